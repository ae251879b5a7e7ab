"""Rewind watch: notices that the store went back, and puts on record which runs that concerns.

It asks where the store is every few seconds, and soon after an outage. Where that looks wrong, it compares the runs
that this process held or moved in the last minutes with the store. It never touches a lease: a lease that the store
does not know is not renewed, so `renew` gives it up within a second.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from workbell.engine.duty import Waker
from workbell.engine.work import Work
from workbell.errors import StoreUnavailable
from workbell.model.clock import Clock
from workbell.model.rewind import (
    EndedTokens,
    KnownRun,
    Rewind,
    Standing,
    StorePosition,
    compare,
    is_forgotten,
    may_have_ended,
    rewinds_in_words,
    suspicion,
)
from workbell.model.run import Run, Status
from workbell.model.state import Retention, retention_of
from workbell.stores.port import Store
from workbell.stores.publisher import Pair

log = logging.getLogger("workbell.engine")

PACE = 5.0  # seconds between two positions
UNKNOWN_PACE = 60.0  # where the store does not tell its position
REST = 10.0  # seconds between two comparisons, however often the position changes
AGAIN = 2.0  # seconds until a comparison is repeated for runs that were changing meanwhile: two renewals
REMEMBERED = 600.0  # seconds for which a run is compared after it was held or moved here; only those count in which the
# store answered: a restore may take longer
MOST = 10_000  # runs that are remembered; about 3 MB


class RecentRuns:
    """The runs that this process moved, let go of unbooked, or handed out to agents in the last minutes; a sink of
    moves."""

    def __init__(self, clock: Clock, keep: Retention) -> None:
        self._clock = clock
        self._keep = keep
        self._lock = threading.Lock()
        self._batches: deque[tuple[float, list[KnownRun]]] = deque()  # with the seconds of answers before each
        self._size = 0
        self._answered = 0.0  # seconds in which the store answered
        self._answered_at: float | None = None  # monotonic; None: it did not answer since

    def note_answer(self) -> None:
        """The store has answered."""
        moment = self._clock.monotonic()
        if self._answered_at is not None:
            self._answered += moment - self._answered_at
        self._answered_at = moment

    def note_failure(self) -> None:
        """The store did not answer: the time since its last answer does not count."""
        self._answered_at = None

    def moved(self, pairs: Sequence[Pair]) -> None:
        """Note transitions that were written. 0.5 µs a run: under load this is called for each of them."""
        self._note(
            [
                KnownRun(
                    run.id,
                    run.lane.tenant,
                    change.token,
                    run.worker,
                    change.status,
                    change.attempt,
                    change.updated_at,
                    True,
                    change.remove_at if change.finished_at is not None else self._removable(run, change.updated_at),
                )
                for run, change in pairs
                # A run that waited was not executed here, and neither was one that goes back without its attempt.
                if run.status is Status.RUNNING and change.attempt == run.attempt
            ]
        )

    def handed_out(self, runs: Sequence[Run]) -> None:
        """Note runs that agents got: they are executed under leases of this process, somewhere else."""
        self._note([self._executed(run, begun=True) for run in runs])

    def let_go(self, works: Iterable[Work]) -> None:
        """Note works whose outcome was not booked: their lease is lost, or this process claimed the run again."""
        self._note([self.held(work) for work in works])

    def held(self, work: Work) -> KnownRun:
        """A run under a lease of ours."""
        return self._executed(work.run, begun=work.started_at is not None)

    def _executed(self, run: Run, *, begun: bool) -> KnownRun:
        at = run.started_at or run.updated_at
        return KnownRun(
            run.id, run.lane.tenant, run.token, run.worker, run.status, run.attempt, at, begun, self._removable(run, at)
        )

    def _removable(self, run: Run, at: datetime) -> datetime:
        """The earliest time at which retention can remove a run that has not ended yet."""
        keep = retention_of(run, self._keep)
        return at + min(keep.succeeded, keep.other)

    def _note(self, batch: list[KnownRun]) -> None:
        if not batch:
            return
        with self._lock:
            moment = self._answered
            self._batches.append((moment, batch))
            self._size += len(batch)
            while len(self._batches) > 1 and (self._size > MOST or moment - self._batches[0][0] > REMEMBERED):
                self._size -= len(self._batches.popleft()[1])

    def known(self) -> list[KnownRun]:
        """All that are remembered, oldest first."""
        since = self._answered - REMEMBERED
        with self._lock:
            return [run for moment, batch in self._batches if moment >= since for run in batch]


class RewindWatch:
    """`held` lists the works that this process holds now."""

    def __init__(
        self,
        store: Store,
        worker: str,
        recent: RecentRuns,
        held: Callable[[], Sequence[Work]],
        waker: Waker,
    ) -> None:
        self._store = store
        self._worker = worker
        self._recent = recent
        self._held = held
        self.waker = waker
        self._position: StorePosition | None = None
        self._why = ""  # the last suspicion
        self._suspected = False  # and that it was not looked into yet
        self._look_at = 0.0  # monotonic
        self._found: list[Rewind] = []  # not written yet
        self._again: set[tuple[str, int]] = set()  # runs and tokens that were changing beside the last comparison
        self._reported: set[tuple[str, int]] = set()  # runs and tokens

    def step(self, now: datetime) -> float:
        try:
            return self._step(now)
        except StoreUnavailable:
            self._recent.note_failure()
            raise

    def _step(self, now: datetime) -> float:
        if self._found:
            self._record()
        position = self._store.position()
        self._recent.note_answer()
        if position is None:
            return UNKNOWN_PACE if self._position is None else PACE  # a standby may be promoted soon
        why = suspicion(self._position, position)
        self._position = position
        if why is not None:
            self._why, self._suspected = why, True
        if not self._suspected and not self._again:
            return PACE
        left = self._look_at - self._store.clock.monotonic()
        if left > 0:
            return min(left, PACE)
        self._look(now)
        self._look_at = self._store.clock.monotonic() + (AGAIN if self._again else REST)
        self._record()
        return AGAIN if self._again else PACE

    def _look(self, now: datetime) -> None:
        """Compare what this process knows with the store, and log the result once. Without a new suspicion, compare
        only the runs that were changing beside the last comparison."""
        held = list(self._held())
        known = {(run.id, run.token): run for run in self._recent.known()}
        known |= {(work.run.id, work.run.token): self._recent.held(work) for work in held}
        self._reported &= known.keys()
        if not self._suspected:
            known = {key: known[key] for key in self._again & known.keys()}
        there = self._store.rewinds.standings(list({run_id for run_id, _ in known}))
        open_ones = [(run.id, run.attempt) for run in known.values() if may_have_ended(run, there.get(run.id))]
        ended = self._store.rewinds.ended_tokens(open_ones)
        self._again = self._changing(held, known, there, ended)
        new = [run for key, run in known.items() if key not in self._reported]
        self._found = compare(new, there, now, self._worker, ended)
        self._reported |= {(one.run, one.token) for one in self._found}
        if self._found:
            log.error(
                "the store was rewound (%s): %s; `workbell doctor` says what to check",
                self._why,
                rewinds_in_words(self._found),
                extra={"worker_id": self._worker},
            )
        elif self._suspected:
            log.info(
                "the store may have been rewound (%s): compared %d runs, and nothing is missing",
                self._why,
                len(known),
                extra={"worker_id": self._worker},
            )
        self._suspected = False

    def _changing(
        self,
        held: Sequence[Work],
        known: dict[tuple[str, int], KnownRun],
        there: Mapping[str, Standing],
        ended: EndedTokens,
    ) -> set[tuple[str, int]]:
        """Runs to be compared once more. Those that have left this worker meanwhile are taken out of the known ones:
        `RecentRuns` knows how. And one that has not begun may do so until its renewal is refused."""
        now_held = {id(work) for work in self._held()}
        changing = set()
        for work in held:
            key = (work.run.id, work.run.token)
            run, one = known.get(key), there.get(work.run.id)
            if run is None:
                continue
            if id(work) not in now_held:
                del known[key]
                changing.add(key)
            elif not run.begun and one and is_forgotten(run, one, ended.get((run.id, run.attempt))):
                changing.add(key)
        return changing

    def _record(self) -> None:
        if self._found:
            self._store.rewinds.add(self._found)
            self._found = []
