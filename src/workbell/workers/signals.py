"""Signals as something to wait for beside pipes, instead of something that interrupts."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Signals:
    """Those that came, in order; `ear` can be waited for."""

    def __init__(self) -> None:
        self.ear, self._mouth = os.pipe()
        os.set_blocking(self._mouth, False)
        os.set_blocking(self.ear, False)
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
            os.close(self.ear)
            os.close(self._mouth)

    def _note(self, number: int) -> None:
        self._came.append(number)
        with suppress(BlockingIOError):  # then there is enough to be read already
            os.write(self._mouth, b"!")

    def heard(self) -> list[int]:
        with suppress(BlockingIOError):
            os.read(self.ear, 4096)
        came = []
        while self._came:  # one may arrive at any moment
            came.append(self._came.popleft())
        return came
