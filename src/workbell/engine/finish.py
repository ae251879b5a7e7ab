"""Finish: outcomes become transitions, written in batches. A write that is refused belongs to a lost lease."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from random import Random

from workbell.engine.work import Work
from workbell.logs.facts import run_facts
from workbell.model.clock import Clock
from workbell.model.outcome import Outcome, decide
from workbell.model.state import Transition
from workbell.runs.booking import Booking
from workbell.stores.port import Held

log = logging.getLogger("workbell.engine")

BATCH = 1000

Decided = tuple[Work, Transition]
TakenOff = Callable[[Sequence[Work]], None]


class Finish:
    """Gathers what handlers came to while the last batch is being written."""

    def __init__(self, booking: Booking, clock: Clock, randomness: Random, booked: TakenOff, dropped: TakenOff) -> None:
        self._booking = booking
        self._clock = clock
        self._random = randomness
        self._booked = booked
        self._dropped = dropped
        self._waiting: list[Decided] = []
        self._lock = threading.Lock()
        self.superseded = 0
        self.wake: Callable[[], None] = lambda: None
        self.before: Callable[[Iterable[Held]], None] = lambda _: None  # told which outcomes are about to be written

    def put(self, work: Work, outcome: Outcome) -> None:
        """From any thread; the first outcome of a work counts."""
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
            self._waiting.append((work, transition))
            first = len(self._waiting) == 1
        if first:  # else a wake-up is on its way already
            self.wake()

    @property
    def size(self) -> int:
        return len(self._waiting)

    def step(self, _now: datetime) -> float | None:
        with self._lock:
            batch = _one_for_each_run(self._waiting[:BATCH])
        if not batch:
            return None
        self.before(work.held for work, _ in batch)
        written = self._booking.book([(work.run, transition) for work, transition in batch])
        with self._lock:
            del self._waiting[: len(batch)]
        works = [work for work, _ in batch]
        if len(written) < len(batch):
            done = {run.id for run, _ in written}
            refused = [work for work in works if work.run.id not in done]
            works = [work for work in works if work.run.id in done]
            self.superseded += len(refused)
            for work in refused:
                text = "run %s: its lease was lost, and what came of it is dropped"
                log.warning(text, work.run.id, extra=run_facts(work.run))
            self._dropped(refused)
        self._booked(works)
        return 0


def _one_for_each_run(waiting: list[Decided]) -> list[Decided]:
    """As many as there are before a run comes a second time: the store answers by run, and that one is under a later
    lease of ours, so it must be told apart from the one that was lost."""
    seen: set[str] = set()
    for place, (_, transition) in enumerate(waiting):
        if transition.run_id in seen:
            return waiting[:place]
        seen.add(transition.run_id)
    return waiting
