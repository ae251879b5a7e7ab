"""The watch of a store without hints, so that a test sees what a queue does alone."""

from __future__ import annotations

import threading


class Deaf:
    """The watch of a store that has no hints."""

    def __init__(self) -> None:
        self._interrupted = threading.Event()

    def wait(self, timeout: float) -> bool:
        self._interrupted.wait(timeout)
        return False

    def interrupt(self) -> None:
        self._interrupted.set()

    def close(self) -> None: ...
