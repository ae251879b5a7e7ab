"""Finish: outcomes become transitions, written in batches. A write that is refused belongs to a lost lease.

While the store is away, outcomes are kept and tried again for as long as the process lives. A process that must end
hands them over to the keeper (`hand_over`), or names the runs whose results are dropped.

Outcomes that an open transaction of the application holds up (it has locked a key, say) are set aside, and tried again
every second beside the others.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from random import Random
from sys import getsizeof

import msgspec

from workbell.engine.duty import Waker
from workbell.engine.held_runs import HeldRuns
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.work import Work
from workbell.logs.exceptions import exception_of, loggable
from workbell.logs.facts import run_facts
from workbell.model.log_line import LogLine
from workbell.model.outcome import Failed, Outcome, Raised, decide
from workbell.model.run import Run
from workbell.model.state import Move, Transition
from workbell.runs.booking import LOCKED_PACE, Booking
from workbell.stores.port import Store
from workbell.stores.publisher import Pair

log = logging.getLogger("workbell.engine")

BATCH = 1000
MOST_UNBOOKED = 4000
# As many as 128 results of the largest size with such inputs. A process that books more slowly than it executes would
# else hold up to 2 GB in 4,000 of them, and send all that to the keeper when it must end.
MOST_BYTES = 64 << 20
FEW_UNBOOKED = 100  # so few outcomes stay below that, and are not weighed
QUICK = 1.0  # seconds: a store that booked something since then is not away, and what waits for it is not weighed
PARCEL = (
    1 << 16
)  # bytes of outcomes in one message to the keeper: a worker that freezes within one holds up the supervisor
NAMED = 20  # runs whose results are dropped, in one line of the log

Decided = tuple[Work, Transition]


class KeptOutcome(msgspec.Struct, frozen=True):
    """An outcome as plain data, for another process that books it: with what its handler reported last."""

    run: Run
    change: Transition
    progress: str | None = None
    lines: list[LogLine] = []


HandOver = Callable[[list[KeptOutcome]], bool]


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
        self._aside: list[Decided] = []  # of `waiting`: held up by locks
        self._aside_until = 0.0  # monotonic
        self._lock = threading.Lock()
        self._handed_over = 0  # of `waiting`; from the first one on nothing is written here
        self._leaving = False
        self._booked_at = -math.inf  # monotonic
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
        if isinstance(outcome, Raised | Failed):
            transition = msgspec.structs.replace(transition, raised=_raised(outcome))
        with self._lock:
            if work.settled:
                return
            work.settled = True
            self.waiting.append((work, transition))
            size = len(self.waiting)
            first = size - len(self._aside) == 1
        if first:  # else a wake-up is on its way already
            self.waker.wake()
        if len(self._held.by_id) - size <= self._held.refill_at:  # claims need not wait for the booking
            self._held.refill()

    @property
    def size(self) -> int:
        return len(self.waiting)

    def is_full(self) -> bool:
        """Whether so much waits that nothing more may be claimed."""
        waiting = self.waiting[:]
        if len(waiting) >= MOST_UNBOOKED:
            return True
        if self._clock.monotonic() - self._booked_at < QUICK:
            return False
        return sum(_weight(work.run, change) for work, change in waiting) >= MOST_BYTES

    def step(self, _now: datetime) -> float | None:
        with self._lock:
            batch = self._next_batch()
            pause = None if self._leaving or not self._aside else self._aside_until - self._clock.monotonic()
        if not batch:
            return pause
        if len(batch) > 1:
            batch = _one_for_each_run(batch)
        if not self._reports.resting:
            self._reports.settle(work.held for work, _ in batch)
        written, left = self._booking.book_unheld([(work.run, transition) for work, transition in batch])
        if len(left) < len(batch):
            self._booked_at = self._clock.monotonic()
        batch = self._remove_booked(batch, [run.id for run, _ in left])
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
                self._announce(waiting_again(written))
        return 0

    def _next_batch(self) -> list[Decided]:
        """What is to be booked now; what was set aside comes by itself, as it may take half a second."""
        if self._leaving:
            return []
        if not self._aside:
            return self.waiting[:BATCH]
        if self._clock.monotonic() >= self._aside_until:
            return self._aside[:BATCH]
        aside = {id(one) for one in self._aside}
        return [one for one in self.waiting if id(one) not in aside][:BATCH]

    def _remove_booked(self, batch: list[Decided], held_up: Sequence[str]) -> list[Decided]:
        """Remove a batch from what waits, but set aside the outcomes of runs that are held up; the others."""
        with self._lock:
            if not held_up and not self._aside:
                if not self._leaving:
                    del self.waiting[: len(batch)]
                return batch
            tried = {id(one) for one in batch}
            by_run = {one[0].run.id: one for one in batch}
            left = [by_run.pop(run_id) for run_id in held_up]
            self._aside = [one for one in self._aside if id(one) not in tried] + left
            if left:
                self._aside_until = self._clock.monotonic() + LOCKED_PACE
            booked = {id(one) for one in by_run.values()}
            if not self._leaving:
                self.waiting[:] = [one for one in self.waiting if id(one) not in booked]
            return list(by_run.values())

    # The end of the process

    def hand_over(self, to: HandOver | None, seconds: float) -> None:
        """Hand outcomes that are not written over to another process, within some seconds; name those that are dropped.

        Nothing is written here any more. Again, for outcomes that came meanwhile.
        """
        with self._lock:
            self._leaving = True
            left = self.waiting[self._handed_over :]
            self._handed_over += len(left)
        taken: list[Decided] = []
        if to is not None and left:
            end = time.monotonic() + seconds
            # In a thread: a supervisor that is stopped does not read, and this process must end in time.
            sending = threading.Thread(target=self._send, args=[left, to, end, taken], daemon=True)
            sending.start()
            sending.join(seconds)
            log.info("results handed over to the keeper: %d of %d", len(taken), len(left))
        log_dropped([(work.run, change) for work, change in left[len(taken) :]])

    def _send(self, left: Sequence[Decided], to: HandOver, end: float, taken: list[Decided]) -> None:
        reports = self._reports.take(work.held for work, _ in left)
        parcel: list[Decided] = []
        weight = 0
        for index, (work, change) in enumerate(left):
            parcel.append((work, change))
            weight += _weight(work.run, change)
            if weight < PARCEL and index + 1 < len(left):
                continue
            kept = [_kept(work.run, change, *reports.get(work.held, (None, []))) for work, change in parcel]
            if time.monotonic() >= end or not to(kept):
                return
            taken += parcel
            parcel, weight = [], 0

    def _drop(self, refused: Sequence[Work]) -> None:
        self.superseded += len(refused)
        for work in refused:
            text = "run %s: its lease was lost, and what came of it is dropped"
            log.warning(text, work.run.id, extra=run_facts(work.run))
        self._held.note_dropped(refused)


def _raised(outcome: Raised | Failed) -> BaseException | None:
    """The exception of a failed attempt as it can be logged, once it is booked."""
    return loggable(outcome.error) if isinstance(outcome, Raised) else exception_of(outcome.error)


def _kept(run: Run, change: Transition, progress: str | None, lines: list[LogLine]) -> KeptOutcome:
    return KeptOutcome(run, msgspec.structs.replace(change, raised=None), progress, lines)  # it is sent as JSON


def _weight(run: Run, change: Transition) -> int:
    """Bytes of an outcome that waits, about: its texts, beside the two objects of a kilobyte."""
    size = 1024
    if run.input_text is not None:
        size += getsizeof(run.input_text)
    if change.result_text is not None:
        size += getsizeof(change.result_text)
    if change.error is not None:
        size += getsizeof(change.error)
    return size


def log_dropped(left: Iterable[Pair]) -> None:
    """Name the runs whose results are dropped, as nobody could book them. Those handed back are only claimed later."""
    runs = [run.id for run, change in left if change.move is not Move.RELEASE]
    if runs:
        text = (
            "results dropped, because the store could not be reached in time, or a transaction held what they need: "
            "%d; these runs are executed again: %s"
        )
        log.error(text, len(runs), some_of(runs))


def some_of(ids: Sequence[str]) -> str:
    """Ids for one line of the log."""
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")


def waiting_again(written: Sequence[Pair]) -> list[Run]:
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
