"""Counters of handlers in other processes, in a memory-mapped file: counting must be cheap."""

from __future__ import annotations

import mmap
import time
from pathlib import Path

HEAD = 3  # how many ran, when the first one started, when the process was ready
STAMPS = 20_000


class WorkerNumbers:
    """Numbers of one worker process: written there, read here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(8 * (HEAD + STAMPS)))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._numbers = memoryview(self._map).cast("q")

    def ready(self) -> None:
        self._numbers[2] = time.time_ns()

    def hit(self, sent: int) -> None:
        """A handler was called; if its run was stamped, note how long that took."""
        numbers = self._numbers
        if not numbers[0]:
            numbers[1] = time.time_ns()
        if sent:
            numbers[HEAD + numbers[0] % STAMPS] = time.time_ns() - sent
        numbers[0] += 1

    @property
    def is_ready(self) -> bool:
        return self._numbers[2] != 0

    @property
    def count(self) -> int:
        return self._numbers[0]

    @property
    def first(self) -> int:
        """When the first handler started, in nanoseconds of wall time; 0 if none has."""
        return self._numbers[1]

    def latencies(self) -> list[float]:
        """Milliseconds from enqueue to handler start."""
        return [number / 1e6 for number in self._numbers[HEAD : HEAD + min(self.count, STAMPS)]]

    def close(self) -> None:
        self._numbers.release()
        self._map.close()
