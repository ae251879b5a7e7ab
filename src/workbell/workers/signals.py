"""Signals as a file descriptor, to wait for together with pipes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Signals:
    """Received signals, in order; `read_end` can be waited for.

    The interpreter itself writes their numbers, at the moment they arrive. A handler in Python would be called after
    the wait only, if the signal comes just before it begins.
    """

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        os.set_blocking(self.read_end, False)
        self._numbers: frozenset[int] = frozenset()

    @contextmanager
    def caught(self, *numbers: int) -> Iterator[None]:
        """Only in the main thread, as the system has it."""
        self._numbers = frozenset(numbers)
        told = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        before = {number: signal.signal(number, lambda *_: None) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(told)
            os.close(self.read_end)
            os.close(self._write_end)

    def received(self) -> list[int]:
        with suppress(BlockingIOError):
            # Those with a handler of somebody else are written too.
            return [number for number in os.read(self.read_end, 4096) if number in self._numbers]
        return []
