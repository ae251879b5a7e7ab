"""A worker bench: the engine's steps over a store and a clock that stands still, called one by one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from random import Random

from tests.support.fresh_store import fresh_store
from workbell import Context, Run, Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.engine.claim_hints import ClaimHints
from workbell.engine.clean_history import remove
from workbell.engine.consume import Consume, serves
from workbell.engine.dispatch import Dispatch
from workbell.engine.duty import Waker
from workbell.engine.execute import call_async, call_plain
from workbell.engine.finish import Finish
from workbell.engine.held_runs import HeldRuns
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.recover import Recover
from workbell.engine.renew import Renew
from workbell.engine.work import Work
from workbell.model.clock import Clock, ManualClock
from workbell.model.outcome import Outcome
from workbell.model.state import Retention
from workbell.runs.booking import Booking
from workbell.runs.publisher import RunPublisher
from workbell.stores.port import Store
from workbell.stores.publisher import Pair

LEASE = timedelta(seconds=30)


class RecordedRuns(HeldRuns):
    """Held runs that remember what was removed."""

    def __init__(self, clock: Clock, wakers: Sequence[Waker] = ()) -> None:
        super().__init__(clock, wakers)
        self.all_booked: list[Work] = []
        self.all_dropped: list[Work] = []

    def note_booked(self, works: Sequence[Work]) -> None:
        self.all_booked += works
        super().note_booked(works)

    def note_dropped(self, works: Sequence[Work]) -> None:
        self.all_dropped += works
        super().note_dropped(works)


class WithoutStarts(RunPublisher):
    """Tests of starts publish them themselves."""

    def claimed(self, runs: Sequence[Run]) -> None: ...

    def started(self, runs: Sequence[Run]) -> None: ...


class Bench:
    """One worker of a store; several benches of one store are several workers."""

    def __init__(self, store: Store | None = None, *, concurrency: int = 10, name: str = "worker") -> None:
        self.clock = ManualClock() if store is None else store.clock
        self.store: Store = fresh_store(clock=self.clock) if store is None else store
        self.bell = Workbell(store=self.store)
        self.keep = Retention()
        self.delivered: list[Work] = []
        self.stopped: list[Work] = []
        self.announced = 0
        self.publisher = self.bell.runtime.publisher
        self.written: list[Pair] = []
        publisher = WithoutStarts(lambda: self.store, self.publisher.events, self.bell.host.bus, sinks=[self])
        self.booking = Booking(lambda: self.store, publisher, self.keep)
        self.claims_waker = Waker()
        self.held = RecordedRuns(self.clock, [self.claims_waker])
        self.reports = ProgressAndLogs(self.store, self.clock)
        self.finish = Finish(self.store, self.booking, self.held, self.reports, randomness=Random(1))
        self.hints = ClaimHints()
        self.consume = Consume(
            self.store,
            self.booking,
            FairClaims(self.store),
            self.bell.registry,
            Claimant(name, LEASE, serves(self.bell.registry, None)),
            self.held,
            self,
            self.finish,
            concurrency=concurrency,
            poll=1,
            hints=self.hints,
        )
        self.dispatch = Dispatch(self.store, self._announce, 1)
        self.recover = Recover(self.store, self.booking, self._announce, 5, lease=LEASE)
        self.renew = Renew(self.store, LEASE, self.held, self.stopped.append)

    def prune(self) -> bool:
        """Remove a batch of what is kept no longer; whether there may be more."""
        return remove(self.store, self.clock.now(), Counter())

    def _announce(self, _runs: Iterable[Run]) -> None:
        self.announced += 1

    @property
    def booked(self) -> list[Work]:
        return self.held.all_booked

    @property
    def dropped(self) -> list[Work]:
        return self.held.all_dropped

    def put(self, works: Sequence[Work]) -> None:
        """As executors do."""
        self.delivered += works

    def moved(self, pairs: Sequence[Pair]) -> None:
        """As a sink of the publisher does."""
        self.written += pairs

    # One thing at a time

    def queue_due(self) -> None:
        """A fresh look, though the last one may be less than the usual gap ago."""
        look = Dispatch(self.store, self._announce, 1)
        while look.step(self.clock.now()) == 0:
            pass

    def claim(self) -> list[Work]:
        """Claim until there is nothing more to claim; what was handed to the slots."""
        self.hints.hint()
        while self.consume.step(self.clock.now()) == 0:
            pass
        taken, self.delivered[:] = list(self.delivered), []
        return taken

    def context(self, work: Work) -> Context:
        return Context(work.run, self.bell._services, self.store.runs.set_progress, lambda: work.stopping)

    def call(self, work: Work) -> Outcome:
        """Call the handler as a slot does."""
        work.started_at = self.clock.now()
        if work.job.is_async:
            return asyncio.run(call_async(work, self.context(work)))
        return call_plain(work, self.context(work))

    def book(self, work: Work, outcome: Outcome) -> None:
        self.finish.put(work, outcome)
        while self.finish.step(self.clock.now()) == 0:
            pass

    def work(self) -> list[Run]:
        """Everything that is due now, once: queue, claim, call, book; the runs as they are afterwards."""
        self.queue_due()
        done = []
        for work in self.claim():
            self.book(work, self.call(work))
            done.append(work.run.id)
        return [self.run(run_id) for run_id in done]

    def run(self, run: str | Run) -> Run:
        return self.bell.get(run if isinstance(run, str) else run.id)

    def attempts(self, run: Run) -> list[tuple[int, str]]:
        return [(attempt.number, attempt.status.value) for attempt in self.bell.attempts(run.id)]

    def lapse(self) -> None:
        """Nobody renews; a sweep sees that, and one after all leases have ended takes them."""
        self.clock.advance(3)
        self.recover.step(self.clock.now())
        self.clock.advance(LEASE.total_seconds() - 5)
        self.recover.step(self.clock.now())  # whether the store answers writes from here to the end
        self.clock.advance(3)
        self.recover.step(self.clock.now())


def waits(run: Run) -> float:
    """Seconds between the last change of a run and when it is due again."""
    return (run.scheduled_for - run.updated_at).total_seconds()
