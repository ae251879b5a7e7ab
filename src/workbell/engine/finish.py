"""Finish: outcomes become transitions, written in batches. A write that is refused belongs to a lost lease."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from random import Random

import msgspec

from workbell.engine.outcome import Outcome, decide
from workbell.engine.work import Work
from workbell.errors import StoreError, StoreUnavailable
from workbell.events.telling import Telling
from workbell.logs.facts import run_facts
from workbell.model.alert import UNWATCHED
from workbell.model.clock import Clock
from workbell.model.payload import clean_text
from workbell.model.state import Keep, Transition, fail
from workbell.stores.port import Held, Store

log = logging.getLogger("workbell.engine")

BATCH = 1000

Pair = tuple[Work, Transition]
Booked = Callable[[Sequence[Pair]], None]
Dropped = Callable[[Sequence[Work]], None]


class Finish:
    """Gathers what handlers came to while the last batch is being written."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        keep: Keep,
        randomness: Random,
        booked: Booked,
        dropped: Dropped,
        telling: Telling | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._keep = keep
        self._random = randomness
        self._booked = booked
        self._dropped = dropped
        self._telling = telling or Telling()
        self._waiting: list[Pair] = []
        self._lock = threading.Lock()
        self._unsure = False  # a write failed in a way that leaves open whether it happened
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
            keep=self._keep,
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
        if self._telling.anything or any(_is_watched(work) for work, _ in batch):
            batch = [(work, self._telling.of(work.run, transition)) for work, transition in batch]
        moved = self._write(batch)
        with self._lock:
            del self._waiting[: len(batch)]
        if len(moved) < len(batch):
            refused = [work for work, transition in batch if transition.run_id not in moved]
            self.superseded += len(refused)
            for work in refused:
                text = "run %s: its lease was lost, and what came of it is dropped"
                log.warning(text, work.run.id, extra=run_facts(work.run))
            self._dropped(refused)
            batch = [pair for pair in batch if pair[1].run_id in moved]
        self._booked(batch)
        return 0

    def _write(self, batch: list[Pair]) -> set[str]:
        transitions = [transition for _, transition in batch]
        try:
            moved = self._store.apply(transitions)
        except StoreUnavailable:
            self._unsure = True
            raise
        except StoreError:
            # One row that the store cannot take must not hold up the others.
            log.exception("%d outcomes were refused; they are written one by one", len(batch))
            return self._write_one_by_one(batch)
        if self._unsure and len(moved) < len(transitions):
            moved |= self._written_before(transitions)
        self._unsure = False
        return moved

    def _write_one_by_one(self, batch: list[Pair]) -> set[str]:
        """What is refused even alone becomes a failure that says so: a run must never stay in our hands."""
        moved: set[str] = set()
        for place, (work, transition) in enumerate(batch):
            try:
                moved |= self._store.apply([transition])
            except StoreUnavailable:
                self._unsure = True
                raise
            except StoreError as error:
                batch[place] = (work, self._telling.of(work.run, self._refused(work, error)))
                moved |= self._write_alone(batch[place][1])
        return moved

    def _refused(self, work: Work, error: StoreError) -> Transition:
        text = clean_text(f"What came of it could not be stored: {error}")
        keep, started_at = self._keep.other, work.started_at
        return fail(work.run, self._clock.now(), error=text, reason="result", keep=keep, started_at=started_at)

    def _write_alone(self, transition: Transition) -> set[str]:
        try:
            return self._store.apply([transition])
        except StoreUnavailable:
            self._unsure = True
            raise
        except StoreError:
            if transition.emits or transition.then:  # rather untold than unbooked
                return self._write_alone(msgspec.structs.replace(transition, emits=(), then=()))
            log.exception("run %s: its outcome cannot be stored; its lease will run out", transition.run_id)
            return set()

    def _written_before(self, transitions: list[Transition]) -> set[str]:
        """After a lost connection: those whose earlier write had gone through, told by token and time."""
        found = self._store.find_runs([transition.run_id for transition in transitions])
        return {
            transition.run_id
            for transition in transitions
            if (run := found.get(transition.run_id)) is not None
            and (run.status, run.token, run.updated_at)
            == (transition.status, transition.expected_token, transition.updated_at)
        }


def _is_watched(work: Work) -> bool:
    """Whether its end may have to be told at a URL: of its job, or of its schedule."""
    return work.job.watched is not UNWATCHED or work.run.schedule is not None


def _one_for_each_run(waiting: list[Pair]) -> list[Pair]:
    """As many as there are before a run comes a second time: the store answers by run, and that one is under a later
    lease of ours, so it must be told apart from the one that was lost."""
    seen: set[str] = set()
    for place, (_, transition) in enumerate(waiting):
        if transition.run_id in seen:
            return waiting[:place]
        seen.add(transition.run_id)
    return waiting
