"""The engine of one process: its duties and slots, started in order and stopped in reverse."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from random import Random

from workbell.claims.claiming import Claimant, FairClaims
from workbell.client.client import Client
from workbell.engine.clean_history import CleanHistory
from workbell.engine.consume import Consume, limits, serves
from workbell.engine.dispatch import Dispatch
from workbell.engine.duty import Duty
from workbell.engine.executors import Executors
from workbell.engine.exit_on_lost_leases import ExitOnLostLeases
from workbell.engine.finish import Finish
from workbell.engine.hand_back import HandBack
from workbell.engine.handler_processes.entry import Entry, no_entry
from workbell.engine.loop_watch import LoopWatch
from workbell.engine.match_events import MatchEvents
from workbell.engine.materialise import Materialise
from workbell.engine.missing_workers import MissingWorkers
from workbell.engine.permits import PermitListener
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.publish import Publish
from workbell.engine.recover import Recover
from workbell.engine.renew import Renew
from workbell.engine.role import ALL, Role
from workbell.engine.tallies import TallyDuty
from workbell.engine.timeouts import Timeouts
from workbell.engine.unserved_runs import UnservedRuns
from workbell.engine.work import Work
from workbell.engine.worker_registration import WorkerRegistration
from workbell.errors import StoreError
from workbell.handlers.context import Context
from workbell.model import state
from workbell.model.clock import Clock
from workbell.model.ids import new_id
from workbell.model.outcome import HANDED_BACK, Outcome
from workbell.model.run import Run
from workbell.model.run_defaults import Maker
from workbell.model.state import Move
from workbell.notices.bus import Bus, Notice
from workbell.notices.push_message import Message
from workbell.process.identity import process_name, process_start
from workbell.queues.guarded import GuardedQueue
from workbell.queues.in_store import InStoreQueue
from workbell.runs.booking import Booking
from workbell.settings import Settings
from workbell.stores.measuring import follow_time

FLUSH = 10.0  # for the last outcomes to be written
STUBBORN = 1.0  # for a cancelled handler to give up
TIDY = 10.0
DECLARE = 60.0


class Engine:
    """Scheduler and worker in one process, or one of the two."""

    def __init__(
        self,
        client: Client,
        claims: FairClaims,
        queue: GuardedQueue | None,
        bus: Bus,
        settings: Settings,
        loop: asyncio.AbstractEventLoop,
        *,
        role: Role = ALL,
        declare_again: Callable[[], None] = lambda: None,
        isolated: Callable[[], Entry] | None = None,
        apart: bool = False,
    ) -> None:
        store, clock = client.store, client.store.clock
        self.worker = f"{process_name()}/{new_id()[-12:]}"
        self._client = client
        self._clients = {client.tenant: client}
        self._store = store
        self._bus = bus
        self._loop = loop
        self._hurry = False
        self.booked = 0  # outcomes written, in all
        self._declare_again = declare_again
        self._declared = False
        self.role = role
        size = role.concurrency or settings.concurrency
        claimant = Claimant(
            self.worker, settings.lease_span, serves(client.registry, role.queues), limits(client.registry)
        )
        self._hands = Executors(
            loop,
            size,
            clock,
            client.registry,
            context=self._context,
            entry=isolated or no_entry,
            post=self._post,
            done=self._done,
            board=role.board,
        )
        telling = client.telling
        self._telling = telling
        self._tell = Publish(store, bus, telling, self._emitted, settings.poll)
        self.tallies = TallyDuty(store)
        self._booking = Booking(lambda: store, telling, settings.keep, self.tallies.add, self._tell.moved)
        self._finish = Finish(self._booking, clock, Random(), self._booked, self._dropped)
        self._reports = ProgressAndLogs(store, clock)
        self._register = WorkerRegistration(store, client.registry, self.worker, role.queues, size)
        self._consume = Consume(
            store,
            self._booking,
            claims,
            client.registry,
            clock,
            claimant,
            concurrency=size,
            poll=settings.poll,
            deliver=self._deliver,
            unbooked=lambda: self._finish.size,
            apart=apart,
            drained=self._register.is_drained,
        )
        recover = Recover(store, self._booking, self._announce, settings.sweep, self._tell.lost, settings.lease_span)
        self._dispatch = Dispatch(store, self._announce, settings.poll)
        self._materialise = Materialise(
            store, client.registry, self._announce, settings.poll, self._tell.skipped, telling, self._maker
        )
        self._match = MatchEvents(
            store, client.registry, client.subscriptions, self._announce, settings.poll, self._maker
        )
        renew = Renew(store, settings.lease_span, self._works, self._hands.stop_work, alone=role.give_up is None)
        self._clean = CleanHistory(
            store, self._booking, client.tenant, self.worker, settings.clean_every, settings.lease_span
        )
        self._consume_duty = Duty("consume", self._consume.step, clock)
        self._dispatch_duty = Duty("dispatch", self._dispatch.step, clock)
        self._materialise_duty = Duty("materialise", self._materialise.step, clock)
        self._match_duty = Duty("match", self._match.step, clock)
        self._finish_duty = Duty("finish", self._finish.step, clock)
        self._renew_duty = Duty("renew", renew.step, clock)
        hold_back = HandBack(store, self._works, self._hand_back, settings.poll, self._register.is_drained)
        self._hold_back_duty = Duty("hold-back", hold_back.step, clock)
        self._tell_duty = Duty("tell", self._tell.step, clock)
        self._expire_duty = Duty("expire", Timeouts(clock, self._works, self._hands.expire).step, clock)
        self._duties = [Duty("recover", recover.step, clock), Duty("tidy", self._tidy, clock), self._dispatch_duty]
        self._duties.append(self._tell_duty)
        tallies_duty = Duty("tallies", self.tallies.step, clock)
        self.tallies.wake = tallies_duty.wake
        self._duties.append(tallies_duty)
        if role.schedules:
            self._duties += [
                Duty("clean", self._clean.step, clock),
                Duty("unserved", UnservedRuns(store).step, clock),
                Duty("missing", MissingWorkers(store, self._tell.missing).step, clock),
                Duty("declare", self._declare, clock),
                self._materialise_duty,
                self._match_duty,
            ]
        if role.works:
            # What is claimed last is stopped first.
            self._duties = [self._finish_duty, self._renew_duty, self._expire_duty, *self._duties, self._consume_duty]
            self._duties.append(self._hold_back_duty)
            report_duty = Duty("report", self._reports.step, clock)
            register_duty = Duty("register", self._register.step, clock)
            self._reports.wake, self._register.wake = report_duty.wake, register_duty.wake
            self._register.turned = self._turned
            self._register.quiet = self._consume.is_quiet
            self._finish.before = self._reports.settle
            self._duties = [report_duty, register_duty, *self._duties]
        if role.give_up is not None:
            lease = settings.lease
            give_up = ExitOnLostLeases(clock, lease, lambda: renew.renewals, renew.is_due, role.give_up)
            self._duties.append(Duty("give-up", give_up.step, clock))
        self._loop_watch = LoopWatch(loop, clock, self._works)
        self._loop_watch_duty = Duty("loop-watch", self._loop_watch.step, clock)
        if role.works:
            self._duties.append(self._loop_watch_duty)
        self._finish.wake = self._finish_duty.wake
        # The store's own hints are heard beside those of another queue: they also tell of what is not a run.
        self._hints = InStoreQueue(store)
        self._hints_duty = Duty("hints", PermitListener(self._hints, self.nudge).step, clock)
        self._queue = queue
        self._ear_duty: Duty | None = None
        if queue is not None and role.works:
            ear = PermitListener(queue, self._consume_duty.wake, serves=role.queues, room=self._room)
            self._ear_duty = Duty("ear", ear.step, clock)
        self._stopping = threading.Lock()
        self._stopped = False
        self._changed = threading.Condition()  # told of every work that leaves our hands

    # Start

    def start(self) -> None:
        self._store.check()
        follow_time(self._store)
        self._store.jobs.put(self._client.registry.stored_definitions(self._store.clock, self._client.tenant))
        self._telling.look()
        if self.role.schedules:
            self._end_orphans()
        self._hints.listen()
        if self.role.announce is not None:
            self.role.announce(self.worker)
        for duty in (*self._ears, *self._duties):
            duty.start()

    def _room(self) -> int:
        return 0 if self._stopped else self._consume.room

    @property
    def _ears(self) -> list[Duty]:
        return [duty for duty in (self._hints_duty, self._ear_duty) if duty is not None]

    def _end_orphans(self) -> None:
        """Runs that were to live only as long as the process that accepted them, and it is gone."""
        here = process_name().split("/")[0]
        orphans = []
        for run in self._store.runs.pending(accepted=True):
            host, pid, started = (run.accepted_by or "//").split("/")[:3]
            if host == here and process_start(int(pid)) != started:
                orphans.append(run)
        now = self._store.clock.now()
        reason = "the server that accepted it was restarted"
        keep = self._booking.keep
        self._booking.book(
            [(run, state.cancel(run, now, reason=reason, keep=state.kept(run, keep).other)) for run in orphans]
        )

    def nudge(self) -> None:
        """Something may have changed: look now rather than at the next poll."""
        self._consume_duty.wake()
        if self._dispatch.hint():
            self._dispatch_duty.wake()
        if self._materialise.hint():
            self._materialise_duty.wake()
        if self._match.hint():
            self._match_duty.wake()
        if self._tell.hint():
            self._tell_duty.wake()
        if self._register.hint():
            self._register.wake()

    def _emitted(self) -> None:
        """Events were stored: whoever fans them out, here or elsewhere, should look now."""
        if self._match.hint():
            self._match_duty.wake()
        self._store.wake()

    def _announce(self, runs: Iterable[Run]) -> None:
        """Runs were queued: whoever works, here or elsewhere, should look now.

        Which runs these are is asked only where there is another queue than the store's own.
        """
        self._consume_duty.wake()
        self._hints.send(())
        if self._queue is not None:
            self._queue.announce(runs)

    def _maker(self) -> Maker:
        return self._client.maker

    def _tidy(self, _now: datetime) -> float:
        self._store.tidy()
        follow_time(self._store)
        return TIDY

    def _declare(self, _now: datetime) -> float:
        if self._declared:  # not at the start, where it has just been done
            self._declare_again()
        self._declared = True
        return DECLARE

    @property
    def clock(self) -> Clock:
        return self._store.clock

    @property
    def executing(self) -> list[Work]:
        """What handlers are working on at this moment."""
        return [work for work in self._works() if work.started_at is not None and not work.settled]

    # The way of a run

    def _works(self) -> Iterable[Work]:
        return list(self._consume.held.values())

    def _context(self, work: Work) -> Context | None:
        if not work.job.signature.wants_context:
            return None
        client, reports = self._client_of(work.run.tenant), self._reports
        return Context(work.run, client, reports.progress, lambda: work.stopping, reports.keep)

    def _client_of(self, tenant: str) -> Client:
        """What a handler enqueues belongs to the tenant of its own run."""
        if tenant not in self._clients:
            self._clients[tenant] = self._client.for_tenant(tenant)
        return self._clients[tenant]

    def _deliver(self, works: Sequence[Work]) -> None:
        if self._bus.wants(Move.START):
            self._bus.publish([Notice(Move.START, work.run) for work in works])
        if self._loop_watch.resting:
            self._loop_watch_duty.wake()
        if self._hands.put(works):
            self._expire_duty.wake()
        self._tell.started(works)

    def _post(self, message: Message) -> None:
        """What a handler in a process of its own sends to people goes where this process sends it."""
        getattr(self._client, "post", self._bus.tell)(message)

    def _done(self, work: Work, outcome: Outcome) -> None:
        if work.lost:
            self._dropped([work])
            return
        self._finish.put(work, outcome)

    def _booked(self, works: Sequence[Work]) -> None:
        self.booked += len(works)
        self._consume.note_booked(works)
        self._off_hands(works)
        self._client.waiter.nudge()
        if any(work.job.limits.concurrency for work in works):
            self._store.wake()  # a place is free, which another worker may be waiting for

    def _dropped(self, works: Sequence[Work]) -> None:
        for work in works:
            work.settled = True
        self._consume.note_dropped(works)
        self._off_hands(works)

    def _off_hands(self, works: Sequence[Work]) -> None:
        if self.role.board is not None:
            for work in works:
                self.role.board.wipe(work)
        self._look_for_more()
        with self._changed:
            self._changed.notify_all()

    def _look_for_more(self) -> None:
        """A hand may be free."""
        self._consume_duty.wake()
        if self._ear_duty is not None:
            self._ear_duty.wake()

    def _hand_back(self, is_held: Callable[[Work], bool]) -> None:
        """Give back what has not begun, where that is so of it."""
        for work in self._hands.take_back(is_held):
            self._finish.put(work, HANDED_BACK)

    def _turned(self) -> None:
        """The worker was drained, or may go on."""
        self._hold_back_duty.wake()
        self._look_for_more()

    # Stop

    def stop(self, grace: float) -> int:
        """Claim nothing more, let handlers end for `grace` seconds, hand the rest back; how many that were."""
        with self._stopping:
            if self._stopped:  # by somebody else, just now
                return 0
            self._stopped = True
            return self._stop(grace)

    def _stop(self, grace: float) -> int:
        self._register.say_stopping()
        self._materialise_duty.end()
        if self._queue is not None and self._ear_duty is not None:  # permits are for workers that go on
            self._ear_duty.end()
            self._queue.interrupt()
        self._consume_duty.stop()
        self._hold_back_duty.stop()
        waiting = self._hands.take_back() + self._consume.take_back()
        for work in waiting:
            self._finish.put(work, HANDED_BACK)
        self._wait_until(lambda: self._hurry or not self._busy(), grace)
        left = self._busy()
        for work in left:
            work.release = True
            self._hands.let_go(work)
        self._wait_until(lambda: not self._busy(), STUBBORN)
        for work in self._busy():  # a handler that swallows its cancellation
            self._finish.put(work, HANDED_BACK)
        self._wait_until(lambda: not self._finish.size, FLUSH)
        self._hints_duty.end()
        self._hints.interrupt()
        for duty in (*self._ears, *reversed(self._duties)):
            duty.stop()
        self._reports.flush()
        with suppress(StoreError):  # they are not worth a stop that fails
            self._clean.hand_back(self._store.clock.now())
            self.tallies.flush()
        self._register.remove()
        self._hints.close()
        self._hands.close()
        return len(waiting) + len(left)

    def hurry(self) -> None:
        """Let a `stop` that is under way wait for handlers no longer: their runs are handed back."""
        self._hurry = True
        with self._changed:
            self._changed.notify_all()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def _busy(self) -> list[Work]:
        return [work for work in self._works() if not work.settled]

    def _wait_until(self, condition: Callable[[], bool], seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(condition, seconds)
