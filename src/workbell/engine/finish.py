"""Finish: outcomes become transitions, written in batches. A write that is refused belongs to a lost lease."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from random import Random

from workbell.engine.duty import Waker
from workbell.engine.held_runs import HeldRuns
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.work import Work
from workbell.logs.facts import run_facts
from workbell.model.outcome import Outcome, decide
from workbell.model.run import Run
from workbell.model.state import Transition
from workbell.runs.booking import Booking
from workbell.stores.port import Store
from workbell.stores.publisher import Pair

log = logging.getLogger("workbell.engine")

BATCH = 1000

Decided = tuple[Work, Transition]


class Finish:
    """Gathers outcomes of handlers while the last batch is being written."""

    def __init__(
        self,
        store: Store,
        booking: Booking,
        held: HeldRuns,
        reports: ProgressAndLogs,
        waker: Waker | None = None,
        randomness: Random | None = None,
        *,
        announce: Callable[[Iterable[Run]], None] | None = None,
        hint: Callable[[], None] = lambda: None,
    ) -> None:
        """`announce` is for runs that wait again, where a queue wakes the claims; else `hint` does, for those here."""
        self._store = store
        self._clock = store.clock
        self._booking = booking
        self._held = held
        self._reports = reports
        self._random = randomness or Random()
        self.waiting: list[Decided] = []  # outcomes that are not written yet
        self._lock = threading.Lock()
        self.superseded = 0
        self._announce = announce
        self._hint = hint
        self.waker = waker or Waker()

    def put(self, work: Work, outcome: Outcome) -> None:
        """Add an outcome, from any thread; the first of a work counts. Outcomes of lost leases are dropped."""
        if work.lost:
            self._held.note_dropped([work])
            return
        transition = decide(
            work.run,
            outcome,
            self._clock.now(),
            started_at=work.started_at,
            job_retry=work.job.retry,
            keep=self._booking.keep,
            randomness=self._random,
        )
        with self._lock:
            if work.settled:
                return
            work.settled = True
            self.waiting.append((work, transition))
            size = len(self.waiting)
        if size == 1:  # else a wake-up is on its way already
            self.waker.wake()
        if len(self._held.by_id) - size <= self._held.refill_at:  # claims need not wait for the booking
            self._held.refill()

    @property
    def size(self) -> int:
        return len(self.waiting)

    def step(self, _now: datetime) -> float | None:
        with self._lock:
            batch = self.waiting[:BATCH]
        if not batch:
            return None
        if len(batch) > 1:
            batch = _one_for_each_run(batch)
        if not self._reports.resting:
            self._reports.settle(work.held for work, _ in batch)
        written = self._booking.book([(work.run, transition) for work, transition in batch])
        with self._lock:
            del self.waiting[: len(batch)]
        works = [work for work, _ in batch]
        if len(written) < len(batch):
            done = {run.id for run, _ in written}
            self._drop([work for work in works if work.run.id not in done])
            works = [work for work in works if work.run.id in done]
        self._held.note_booked(works)
        if any(work.job.limits.concurrency for work in works):
            self._hint()
            self._store.wake()  # another worker may be waiting for a run of a limited job to end
        if any(change.finished_at is None or change.then for _, change in written):
            if self._announce is None:
                self._hint()
            else:
                self._announce(_waiting_again(written))
        return 0

    def _drop(self, refused: Sequence[Work]) -> None:
        self.superseded += len(refused)
        for work in refused:
            text = "run %s: its lease was lost, and what came of it is dropped"
            log.warning(text, work.run.id, extra=run_facts(work.run))
        self._held.note_dropped(refused)


def _waiting_again(written: Sequence[Pair]) -> list[Run]:
    """Runs that wait after these transitions: to be tried again, handed back, or made by them."""
    again = [change.after(run) for run, change in written if not change.status.final]
    return again + [new.run for _, change in written for new in change.then]


def _one_for_each_run(waiting: list[Decided]) -> list[Decided]:
    """The batch up to the second outcome of one run: the store answers by run id, and the second is under a later lease
    of ours, so the two go into separate writes."""
    seen: set[str] = set()
    for index, (_, transition) in enumerate(waiting):
        if transition.run_id in seen:
            return waiting[:index]
        seen.add(transition.run_id)
    return waiting
