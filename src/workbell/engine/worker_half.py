"""Worker half of an engine: claims → executors → finish, while leases are renewed and handlers watched."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from workbell.claims.claiming import Claimant, Claims
from workbell.engine.claim_hints import ClaimHints
from workbell.engine.consume import Consume, OnClaim, limits, serves
from workbell.engine.duty import JOIN_WAIT, Duty, DutyThread, Waker
from workbell.engine.execute import Contexts
from workbell.engine.executors import Executors
from workbell.engine.exit_on_lost_leases import ExitOnLostLeases
from workbell.engine.finish import Finish
from workbell.engine.hand_back import HandBack
from workbell.engine.handler_processes.entry import Entry
from workbell.engine.held_runs import HeldRuns
from workbell.engine.loop_watch import LoopWatch
from workbell.engine.permits import PermitListener
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.renew import Renew
from workbell.engine.role import Role
from workbell.engine.timeouts import Timeouts
from workbell.engine.worker_registration import WorkerRegistration
from workbell.model.outcome import HANDED_BACK
from workbell.model.run import Run
from workbell.notices.push_message import Message
from workbell.queues.guarded import GuardedQueue
from workbell.runs.runtime import Runtime
from workbell.settings import Settings

FLUSH_WAIT = 10.0  # seconds for the last outcomes to be written
LEAST_FLUSH = 0.3  # the same after the grace, where a keeper takes them over; the supervisor soon loses its patience
HAND_OVER_SHARE = 0.1  # of a lease may pass while outcomes are handed over; a handler still executes
MOST_HAND_OVER = 3.0  # seconds
CANCEL_WAIT = 1.0  # seconds for a cancelled handler to end


class WorkerHalf:
    """`hints` are those for the claims, `housekeeping` is the event of the thread that takes the steps of `chores`."""

    def __init__(
        self,
        runtime: Runtime,
        claims: Claims,
        queue: GuardedQueue | None,
        settings: Settings,
        role: Role,
        worker: str,
        loop: asyncio.AbstractEventLoop,
        *,
        hints: ClaimHints,
        housekeeping: threading.Event,
        entry: Callable[[], Entry],
        apart: bool,
        announce: Callable[[Iterable[Run]], None] | None = None,
        take: Callable[[Claimant, Sequence[str], datetime], list[Run]] | None = None,
    ) -> None:
        """With a queue also `announce`, for runs that wait again, and `take`, for those that permits name."""
        store, registry, clock = runtime.store, runtime.registry, runtime.store.clock
        size = role.concurrency or settings.concurrency
        watchdog = threading.Event()
        claims_waker = hints.waker
        timeouts_waker, hand_back_waker, permits_waker = Waker(watchdog), Waker(housekeeping), Waker()
        self._runtime = runtime
        self._hand_over_to = role.hand_over
        self._hand_over_in = min(settings.lease * HAND_OVER_SHARE, MOST_HAND_OVER)
        self._queue = queue
        self._end = math.inf  # of the time that handlers have at a stop, of monotonic time
        self._stopping = False
        self.held = HeldRuns(
            clock,
            wakers=[claims_waker, permits_waker],
            on_drain=[hand_back_waker, claims_waker, permits_waker],
            journal=role.journal,
        )
        self._reports = ProgressAndLogs(store, clock, Waker(housekeeping))
        self._finish = Finish(
            store,
            runtime.booking,
            self.held,
            self._reports,
            announce=announce,
            hint=hints.hint,
        )
        self.loop_watch = LoopWatch(loop, clock, self.held, Waker(watchdog))
        self._executors = Executors(
            loop,
            size,
            clock,
            registry,
            context=Contexts(runtime, self._reports).make,
            entry=entry,
            post=self._post,
            done=self._finish.put,
            journal=role.journal,
            loop_watch=self.loop_watch,
            timeouts=timeouts_waker,
        )
        self._consume = Consume(
            store,
            runtime.booking,
            claims,
            registry,
            Claimant(worker, settings.lease_span, serves(registry, role.queues), limits(registry)),
            self.held,
            self._executors,
            self._finish,
            concurrency=size,
            poll=settings.poll_pace,
            apart=apart,
            hints=hints,
            permits=None if queue is None else permits_waker,
            take=take,
            definitions=runtime.definitions,
        )
        renew = Renew(store, settings.lease_span, self.held, self._executors.stop_work, alone=role.give_up is None)
        self.registration = WorkerRegistration(
            store, registry, self.held, worker, role.queues, size, Waker(housekeeping)
        )
        timeouts = Timeouts(clock, self.held, self._executors.expire)
        hand_back = HandBack(store, self.held, self._executors, self._finish.put, settings.poll_pace, hand_back_waker)

        # Steps that never touch the store share a thread: nothing may block them.
        watches = [
            Duty("timeouts", timeouts.step, clock, timeouts_waker),
            Duty("loop-watch", self.loop_watch.step, clock, self.loop_watch.waker),
        ]
        if role.give_up is not None:
            give_up = ExitOnLostLeases(
                clock,
                settings.lease,
                renew,
                self._before_the_end(role.give_up),
                executes=lambda claimed: any(work.claimed <= claimed for work in self.held.executing()),
                hand_back=self._hand_back_claimed,
            )
            watches.append(Duty("give-up", give_up.step, clock, Waker(watchdog)))
        self.hints = [self.registration.hint, hand_back.hint]
        self._hand_back_duty = Duty("hand-back", hand_back.step, clock, hand_back_waker)
        self.chores = [
            Duty("reports", self._reports.step, clock, self._reports.waker),
            Duty("registration", self.registration.step, clock, self.registration.waker),
            self._hand_back_duty,
        ]
        consuming = Duty("consume", self._consume.step, clock, claims_waker)
        self.polls = [consuming]
        self._claiming = DutyThread([consuming])
        self._permits: DutyThread | None = None
        if queue is not None:
            listener = PermitListener(queue, hints.permit, serves=role.queues, room=self._room)
            self._permits = DutyThread([Duty("permits", listener.step, clock, permits_waker)])
        self.threads = [
            # Soon after an outage, before anybody takes our leases over: see `sure_after`.
            DutyThread([Duty("finish", self._finish.step, clock, self._finish.waker, longest=renew.pace)]),
            DutyThread([Duty("renew", renew.step, clock, longest=renew.pace)]),
            DutyThread(watches, "watchdog", watchdog),
            *([] if self._permits is None else [self._permits]),
            self._claiming,  # started last, stopped first
        ]

    def _room(self) -> int:
        return 0 if self._stopping else self._consume.room

    def _post(self, message: Message) -> None:
        """Messages to people from a handler in a process of its own are sent as this process sends them."""
        self._runtime.hooks.post(message)

    # Stop

    def _before_the_end(self, give_up: Callable[[str], None]) -> Callable[[str], None]:
        """Hand outcomes over first, also those that come meanwhile."""

        def hand_over_and_give_up(why: str) -> None:
            end = time.monotonic() + self._hand_over_in
            for _ in range(2):
                self._finish.hand_over(self._hand_over_to, max(end - time.monotonic(), 0.0))
            give_up(why)

        return hand_over_and_give_up

    def _hand_back_claimed(self, before: float) -> None:
        """Runs that have not begun must not do so any more: their leases end soon."""
        for work in self._executors.take_back(lambda work: work.claimed <= before):
            self._finish.put(work, HANDED_BACK)

    def limit_stop(self, grace: float) -> None:
        """Let `finish_work`, also one that is under way, wait for handlers no longer than `grace` seconds from now."""
        self._end = min(self._end, self._runtime.store.clock.monotonic() + grace)
        self.held.notify()

    def finish_work(self) -> int:
        """Claim nothing more, let handlers end until `limit_stop` says, hand the rest back; how many that were.

        Outcomes are written and leases renewed meanwhile: the threads are stopped after this.
        """
        self._stopping = True
        self._consume.on_claim = OnClaim.KEEP
        waiting = self._executors.take_back()  # at once: a slot that is free in a moment must not begin one of them
        self.registration.note_stopping()
        if self._queue is not None and self._permits is not None:  # permits are for workers that go on
            self._permits.end()
            self._queue.interrupt()
        # Beside a supervisor, which kills what does not end, not for as long as a call may wait for the store.
        patience = JOIN_WAIT
        if self._hand_over_to is not None:
            patience = min(max(self._left() / 3, LEAST_FLUSH), JOIN_WAIT)
        self._claiming.stop(max(patience, 2 * LEAST_FLUSH))
        self._consume.on_claim = OnClaim.LEAVE
        self._hand_back_duty.stop(patience)
        waiting += self._executors.take_back() + self._consume.take_back()
        for work in waiting:
            self._finish.put(work, HANDED_BACK)
        self._await_handlers()
        left = self.held.busy()
        for work in left:
            work.release = True
            self._executors.let_go(work)
        self.held.wait_until(lambda: not self.held.busy(), CANCEL_WAIT)
        for work in self.held.busy():  # a handler that swallows its cancellation
            self._finish.put(work, HANDED_BACK)
        self._flush()
        if self._finish.size:
            self._finish.hand_over(self._hand_over_to, self._hand_over_in)
        return len(waiting) + len(left)

    def _await_handlers(self) -> None:
        """Until all have ended, or their time is over, which may be shortened meanwhile."""
        end = math.nan
        while end != self._end:
            end = self._end
            self.held.wait_until(lambda: self._end != end or not self.held.busy(), self._left())  # noqa: B023

    def _flush(self) -> None:
        """Let the last outcomes be written. With a keeper that takes over the rest, not for longer than the grace."""
        if self._hand_over_to is None:
            self.held.wait_until(lambda: not self._finish.size, FLUSH_WAIT)
            return
        self.held.wait_until(lambda: not self._finish.size, LEAST_FLUSH)
        self.held.wait_until(lambda: not self._left() or not self._finish.size, min(self._left(), FLUSH_WAIT))

    def _left(self) -> float:
        return min(max(self._end - self._runtime.store.clock.monotonic(), 0.0), threading.TIMEOUT_MAX)

    def close(self) -> bool:
        """After all threads have ended. Returns False if the store may still have runs as ours that never began."""
        holds_nothing = not self._claiming.is_alive() and self._consume.give_back_strays()
        self._reports.flush()
        self.registration.remove()
        self._executors.close()
        return holds_nothing
