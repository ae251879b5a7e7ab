"""Progress and log lines of handlers, gathered here and written in batches.

A handler never waits for a log line to be written. Progress is written at most a few times a second for each run; of
what comes in between, the newest. All of it is written before the outcome of its run, for callers that wait for its
end.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterable
from datetime import datetime

from workbell.engine.duty import Waker
from workbell.errors import StoreError, StoreUnavailable
from workbell.model.clock import Clock
from workbell.model.log_line import LogLine
from workbell.process.event_loop import is_in_a_loop
from workbell.stores.port import Held, Store

log = logging.getLogger("workbell.engine")

PACE = 0.25  # seconds between two writes of a run's progress, and between two batches of log lines
BATCH = 1000
MOST_WAITING = 20_000  # log lines in memory, should the store not take them
MOST_TAKEN = 16 << 20  # characters of log lines that go to another process
BEFORE_AN_END = 4  # batches of log lines that an outcome waits for at the most; others follow it
REMEMBERED = 60.0  # seconds that a lost lease is remembered; by then its handler was asked to stop


class _Progress:
    """Newest progress of one run."""

    __slots__ = ("due", "is_lost", "text", "writing")

    def __init__(self) -> None:
        self.text: str | None = None  # not written yet
        self.due = float("-inf")  # when the next may be written
        self.is_lost = False
        self.writing = threading.Lock()  # held from taking a text until it is written: none may overtake another


class ProgressAndLogs:
    """Gathers from any thread; `step` writes."""

    def __init__(self, store: Store, clock: Clock, waker: Waker | None = None) -> None:
        self._store = store
        self._clock = clock
        self.waker = waker or Waker()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._lines: list[tuple[int, LogLine]] = []
        self._progress: dict[Held, _Progress] = {}
        self.resting = True  # nothing waits to be written
        self.left_out = 0

    # From handlers

    def save_line(self, token: int, line: LogLine) -> None:
        """Add a log line, written under the lease with this token."""
        with self._lock:
            if len(self._lines) < MOST_WAITING:
                self._lines.append((token, line))
            else:
                self.left_out += 1
        self._stir()

    def progress(self, held: Held, text: str) -> bool:
        """Report progress; return whether the lease holds, as far as known. On an event loop it is written later."""
        with self._lock:
            progress = self._progress.setdefault(held, _Progress())
            if progress.is_lost:
                return False
            progress.text = text
            is_due = progress.due <= self._clock.monotonic()
        if is_due and not is_in_a_loop():
            with contextlib.suppress(StoreUnavailable):  # then the duty tries again
                self._write_progress(held, progress)
        self._stir()
        return not progress.is_lost

    def _stir(self) -> None:
        """Wake the duty, unless its next step is due soon anyway."""
        if self.resting:
            self.resting = False
            self.waker.wake()

    # Writing

    def step(self, _now: datetime) -> float | None:
        with self._lock:
            moment = self._clock.monotonic()
            for held in [
                held for held, progress in self._progress.items() if progress.text is None and progress.due <= moment
            ]:
                del self._progress[held]
            due = [(held, progress) for held, progress in self._progress.items() if progress.text is not None]
            if not self._progress and not self._lines:
                self.resting = True
                return None
        for held, progress in due:
            if progress.due <= moment:
                self._write_progress(held, progress)
        while self._write_lines() == BATCH:
            pass
        return PACE

    def settle(self, helds: Iterable[Held]) -> None:
        """Write the reports of runs whose outcomes are about to be written. Never fails."""
        if not self._lines and not self._progress:
            return
        leases = set(helds)
        with self._lock:
            unwritten = [(held, self._progress.pop(held)) for held in leases if held in self._progress]
            ids = {held.run_id for held in leases}
            lines = any(line.run in ids for _, line in self._lines)
        try:
            for held, progress in unwritten:
                self._write_progress(held, progress)
            for _ in range(BEFORE_AN_END if lines else 0):
                if self._write_lines() < BATCH:
                    break
        except StoreUnavailable:
            with self._lock:  # their outcomes cannot be written either, and come here again
                self._progress |= unwritten
            self._stir()
        except Exception:
            log.exception("what %d runs reported last could not be written", len(leases))

    def take(self, helds: Iterable[Held]) -> dict[Held, tuple[str | None, list[LogLine]]]:
        """Take what was reported under leases and is not written, for a process that writes it instead."""
        leases = set(helds)
        found: dict[Held, tuple[str | None, list[LogLine]]] = {}
        with self._lock:
            for held in leases & self._progress.keys():
                found[held] = (self._progress.pop(held).text, [])
            room, left = MOST_TAKEN, []
            for token, line in self._lines:
                held = Held(line.run, token)
                if held not in leases:
                    left.append((token, line))
                elif len(line.message) <= room:
                    room -= len(line.message)
                    found.setdefault(held, (None, []))[1].append(line)
                else:
                    self.left_out += 1
            self._lines = left
        if self.left_out:
            log.warning("%d log lines of runs are left out: too many to hand over", self.left_out)
        return found

    def flush(self) -> None:
        """Write what is left, if the store can be reached."""
        with self._lock:
            unwritten = list(self._progress.items())
        try:
            for held, progress in unwritten:
                self._write_progress(held, progress)
            while self._write_lines() == BATCH:
                pass
        except StoreUnavailable:
            log.warning("%d log lines of runs could not be written: the store cannot be reached", len(self._lines))

    def _write_progress(self, held: Held, progress: _Progress) -> None:
        with progress.writing:
            with self._lock:
                text, progress.text = progress.text, None
                progress.due = self._clock.monotonic() + PACE
            if text is None:
                return
            try:
                if not self._store.runs.set_progress(held, text):
                    progress.is_lost = True
                    progress.due += REMEMBERED
            except StoreUnavailable:
                with self._lock:
                    progress.text = progress.text or text
                raise
            except StoreError:
                log.exception("run %s: its progress cannot be stored", held.run_id)

    def _write_lines(self) -> int:
        """Write one batch; return how many log lines it had."""
        with self._writing:
            with self._lock:
                batch = self._lines[:BATCH]
            if not batch:
                return 0
            try:
                self._store.logs.add(batch)
            except StoreUnavailable:
                raise  # they stay, and are tried again
            except StoreError:
                log.exception("%d log lines of runs cannot be stored", len(batch))
            with self._lock:
                del self._lines[: len(batch)]
                left_out, self.left_out = self.left_out, 0
            if left_out:
                log.warning("%d log lines of runs are left out: more came than could be written", left_out)
            return len(batch)
