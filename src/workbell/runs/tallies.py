"""Tallies: counts of the runs that this process ends, added up in memory and written every few seconds.

With them, charts over any time need no count of history. What a process has not written when it is killed is missing:
no decision depends on them.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from workbell.errors import StoreError
from workbell.model.run import Lane, Status
from workbell.model.state import Move
from workbell.model.tally import BUCKETS, Tally

if TYPE_CHECKING:
    from workbell.model.clock import Clock
    from workbell.stores.port import Store
    from workbell.stores.publisher import Pair

PACE = 5.0  # seconds between two writes

# By which word an attempt is counted; what was handed back or put off has not ended.
WORDS = {Move.SUCCEED: "succeeded", Move.FAIL: "failed", Move.CANCEL: "canceled", Move.RETRY: "retried"}


class Cell:
    """The sums of one minute, lane and way to end."""

    __slots__ = ("buckets", "count", "lane", "seconds", "wait")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.count = 0
        self.seconds = self.wait = 0.0
        self.buckets = [0] * (len(BUCKETS) + 1)


class Sums:
    """Adds up. Every run goes through here: a lane is known by its identity, because to hash one takes as long as all
    the rest, and runs that were claimed together mostly share it. A lane that is there twice is two cells."""

    def __init__(self) -> None:
        self._minutes: dict[datetime, dict[tuple[int, str], Cell]] = {}

    def __bool__(self) -> bool:
        return bool(self._minutes)

    def add(self, ends: Iterable[Pair], now: datetime) -> bool:
        """Count transitions that were just written; whether these are the first that count."""
        was_empty = not self._minutes
        minute = now.replace(second=0, microsecond=0)
        cells = self._minutes.get(minute, {})
        for run, change in ends:
            word = WORDS.get(change.move)
            started_at = change.started_at if change.ended is None else change.ended.started_at
            if word is None:
                if change.status is not Status.FAILED:
                    continue
                word, started_at = "failed", None  # quarantined: how long it took is not known
            lane = run.lane
            cell = cells.get((id(lane), word))
            if cell is None:
                cell = cells[id(lane), word] = Cell(lane)
            cell.count += 1
            if started_at is not None:
                taken = (change.updated_at - started_at).total_seconds()
                if taken < 0:  # the store's time was set right in between; sums only grow
                    taken = 0.0
                cell.seconds += taken
                cell.buckets[bisect_left(BUCKETS, taken)] += 1
                wait = (started_at - run.scheduled_for).total_seconds()
                if wait > 0:
                    cell.wait += wait
        if cells:
            self._minutes[minute] = cells
        return was_empty and bool(cells)

    def tallies(self) -> list[Tally]:
        return [
            Tally(
                minute=minute,
                tenant=cell.lane.tenant,
                queue=cell.lane.queue,
                job=cell.lane.job,
                status=word,
                count=cell.count,
                seconds=cell.seconds,
                wait=cell.wait,
                buckets=tuple(cell.buckets),
            )
            for minute, cells in self._minutes.items()
            for (_, word), cell in cells.items()
        ]


class Tallies:
    """Counts what ends in this process. Written at once; while an engine runs, gathered for a few seconds first."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._sums = Sums()
        self._unwritten: list[Tally] = []  # left from a write that failed
        self._write_at = 0.0
        self._gathering: tuple[Clock, Callable[[], None]] | None = None  # of the engine

    def gather(self, clock: Clock, wake: Callable[[], None]) -> None:
        """Gather from now on: an engine calls `step`, and is woken for it."""
        self._gathering = clock, wake

    def moved(self, pairs: Sequence[Pair]) -> None:
        """From any thread."""
        gathering = self._gathering
        if gathering is None:
            self._write_at_once(pairs)
            return
        clock, wake = gathering
        with self._lock:
            begun = self._sums.add(pairs, clock.now())
            if begun:
                self._write_at = clock.monotonic() + PACE
        if begun:
            wake()

    def step(self, _now: datetime) -> float | None:
        """Write if it is time; return the seconds until then, or None while there is nothing to write."""
        if not self._sums and not self._unwritten:
            return None
        left = self._write_at - self._store().clock.monotonic()
        if left > 0:
            return left
        self.flush()
        return None

    def flush(self) -> None:
        with self._lock:
            gathered = [*self._unwritten, *self._sums.tallies()]
            self._sums, self._unwritten = Sums(), []
        try:
            self._store().tallies.add(gathered)
        except StoreError:
            self._unwritten = gathered  # and only this duty takes them from there
            raise

    def stop(self) -> None:
        """Write what is left, and from now on at once."""
        self._gathering = None
        self.flush()

    def _write_at_once(self, pairs: Sequence[Pair]) -> None:
        """The end of the run is written already: a caller that ended it must not get an error of this."""
        sums = Sums()
        sums.add(pairs, self._store().clock.now())
        with suppress(StoreError):
            self._store().tallies.add(sums.tallies())
