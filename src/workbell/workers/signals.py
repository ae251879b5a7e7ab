"""Signals as a file descriptor, to wait for together with pipes."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Signals:
    """Received signals, in order; `read_end` can be waited for."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        os.set_blocking(self.read_end, False)
        self._came: deque[int] = deque()

    @contextmanager
    def caught(self, *numbers: int) -> Iterator[None]:
        """Only in the main thread, as the system has it."""
        before = {number: signal.signal(number, lambda came, _frame: self._note(came)) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self.read_end)
            os.close(self._write_end)

    def _note(self, number: int) -> None:
        self._came.append(number)
        with suppress(BlockingIOError):  # then there is enough to be read already
            os.write(self._write_end, b"!")

    def received(self) -> list[int]:
        with suppress(BlockingIOError):
            os.read(self.read_end, 4096)
        came = []
        while self._came:  # one may arrive at any moment
            came.append(self._came.popleft())
        return came
