"""The engine of one process: its halves and their threads, started in order and stopped in reverse."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from random import uniform

import msgspec

from workbell.claims.claiming import FairClaims
from workbell.engine.announcer import Announcer
from workbell.engine.claim_hints import ClaimHints
from workbell.engine.dispatch import Dispatch
from workbell.engine.duty import Duty, DutyThread, Waker
from workbell.engine.handler_processes.entry import Entry, no_entry
from workbell.engine.housekeeping import Housekeeping
from workbell.engine.permits import PermitListener
from workbell.engine.pulse import Pulse
from workbell.engine.rewind import RecentRuns, RewindWatch
from workbell.engine.role import ALL, Role
from workbell.engine.scheduler_half import SchedulerHalf
from workbell.engine.work import Work
from workbell.engine.worker_half import WorkerHalf
from workbell.model.clock import Clock
from workbell.model.ids import new_id
from workbell.process.identity import process_name
from workbell.queues.guarded import GuardedQueue
from workbell.queues.in_store import InStoreQueue
from workbell.runs.runtime import Runtime
from workbell.settings import Settings
from workbell.stores.measuring import follow_time

# Seconds between two hints where nothing is claimed. What follows one there (events, schedules, what falls due) waits
# 50 ms anyway, and under a load of enqueues each commit would wake five threads: a tenth of what the requests cost.
HINT_REST = 0.02


def out_of_step(settings: Settings) -> Settings:
    """Settings with a poll and a sweep that are up to a fifth shorter, by chance.

    Processes that were started together would poll together: 12 of them keep two cores busy for 30 ms, and the one
    worker that a permit wakes meanwhile has to wait.
    """
    share = uniform(0.8, 1.0)
    return msgspec.structs.replace(settings, poll=settings.poll_pace * share, sweep=settings.sweep_pace * share)


class Engine:
    """Scheduler and worker in one process, or one of the two."""

    def __init__(
        self,
        runtime: Runtime,
        claims: FairClaims,
        queue: GuardedQueue | None,
        settings: Settings,
        loop: asyncio.AbstractEventLoop,
        *,
        role: Role = ALL,
        declare_again: Callable[[], None] = lambda: None,
        isolated: Callable[[], Entry] = no_entry,
        apart: bool = False,
    ) -> None:
        store, clock = runtime.store, runtime.store.clock
        if queue is not None:
            settings = out_of_step(settings)
        self.worker = f"{process_name()}/{new_id()[-12:]}"
        self.role = role
        self.loop = loop
        self._runtime = runtime
        self._store = store
        self._claims = ClaimHints()
        housekeeping = threading.Event()
        announcer = Announcer(store, queue, self._hint_queued)

        self.worker_half: WorkerHalf | None = None
        if role.works:
            self.worker_half = WorkerHalf(
                runtime,
                claims,
                queue,
                settings,
                role,
                self.worker,
                loop,
                hints=self._claims,
                announce=None if queue is None else announcer.announce,
                take=claims.take,
                housekeeping=housekeeping,
                entry=isolated,
                apart=apart,
            )
        self._scheduler: SchedulerHalf | None = None
        if role.schedules:
            self._scheduler = SchedulerHalf(runtime, settings, self.worker, announcer, housekeeping, declare_again)
        halves = [half for half in (self._scheduler, self.worker_half) if half is not None]
        self._recent = RecentRuns(clock, runtime.keep)
        rewind = RewindWatch(store, self.worker, self._recent, self._held_works, Waker(housekeeping))
        rewinding = Duty("rewind", rewind.step, clock, rewind.waker)
        chores = [rewinding, *(chore for half in halves for chore in half.chores)]
        self._housekeeping = Housekeeping(store, runtime.booking, announcer, settings, housekeeping, chores)
        self._dispatch = dispatch = Dispatch(store, announcer.announce, settings.poll_pace)
        # The store's own hints are received beside those of another queue: they also cover other changes.
        self._store_hints = InStoreQueue(store)
        rest = 0.0 if role.works else HINT_REST
        listener = PermitListener(self._store_hints, lambda _permits: self.hint(), rest=rest)
        self._hints_thread = DutyThread([Duty("hints", listener.step, clock)])
        dispatching = Duty("dispatch", dispatch.step, clock, dispatch.waker)
        polls = [dispatching, *(poll for half in halves for poll in half.polls)]
        for poll in polls:  # the store is back after an outage: is it the same?
            poll.on_return = rewind.waker.wake
        self.pulse = Pulse(store, settings.poll_pace, polls, writes=role.probed)
        self._threads = [
            self._hints_thread,
            DutyThread([dispatching]),
            *self.pulse.threads,
            *(thread for half in halves for thread in half.threads),
        ]
        self._hints = [
            dispatch.hint,
            *self._housekeeping.hints,
            *(hint for half in halves for hint in half.hints),
        ]
        self._stopping = threading.Lock()
        self._stopped = False
        self.holds_nothing = True  # after a stop: every run that was claimed here is ended, handed back or handed over

    def start(self) -> None:
        self._store.check()
        follow_time(self._store)
        self._runtime.declare_jobs()
        self._runtime.publisher.poll()
        try:
            self._start_threads()
        except BaseException:  # the system may have no thread left: those that began must not go on by themselves
            self.stop(0)
            raise

    def _start_threads(self) -> None:
        self._runtime.publisher.add_sink(self._recent)
        self._runtime.publisher.handed_out = self._recent.handed_out
        if self.worker_half is not None:
            self.worker_half.held.on_let_go = self._recent.let_go
        if self._scheduler is not None:
            self._scheduler.end_orphans()
        self._store_hints.listen()
        if self.role.announce is not None:
            self.role.announce(self.worker)
        self._housekeeping.start()
        for thread in self._threads:
            thread.start()

    def hint(self) -> None:
        """Hint that something may have changed: poll now."""
        self._claims.hint()
        for hint in self._hints:
            hint()

    def _hint_queued(self) -> None:
        """Hint that a run is queued, or will be soon."""
        self._claims.hint()
        self._dispatch.hint()

    @property
    def clock(self) -> Clock:
        return self._store.clock

    @property
    def drained(self) -> bool:
        """Whether its worker is to claim nothing more."""
        return self.worker_half is not None and self.worker_half.held.drained

    @property
    def executing(self) -> list[Work]:
        """Runs whose handlers are executing now."""
        return [] if self.worker_half is None else self.worker_half.held.executing()

    def _held_works(self) -> list[Work]:
        return [] if self.worker_half is None else self.worker_half.held.works()

    @property
    def booked(self) -> int:
        """Outcomes written, in all."""
        return 0 if self.worker_half is None else self.worker_half.held.booked

    def stop(self, grace: float | None = None) -> int:
        """Claim nothing more, let handlers end for `grace` seconds, hand the rest back; how many that were.

        Without `grace` for as long as they take. A later call can only shorten that.
        """
        if grace is not None:
            self.limit_stop(grace)
        with self._stopping:
            if self._stopped:  # by another caller, just now
                return 0
            self._stopped = True
            return self._stop()

    def _stop(self) -> int:
        if self._scheduler is not None:
            self._scheduler.end()
        handed_back = 0 if self.worker_half is None else self.worker_half.finish_work()
        self._hints_thread.end()
        self._store_hints.interrupt()
        self._housekeeping.thread.end()  # a step may be waiting for the store: the others end meanwhile
        for thread in reversed(self._threads):
            thread.stop()
        self._housekeeping.thread.stop()
        if self._scheduler is not None:
            self._scheduler.close()
        self._housekeeping.close()
        if self.worker_half is not None:
            self.holds_nothing = self.worker_half.close()
        self._store_hints.close()
        self._runtime.publisher.remove_sink(self._recent)
        self._runtime.publisher.handed_out = lambda _runs: None
        return handed_back

    def limit_stop(self, grace: float) -> None:
        """Let a stop, one that is under way too, wait for handlers no longer than `grace` seconds from now."""
        if self.worker_half is not None:
            self.worker_half.limit_stop(grace)
