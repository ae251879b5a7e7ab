"""Hints for the claims of a worker: that something in the store changed, and permits of a queue, which name runs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from workbell.engine.duty import Waker
from workbell.model.ids import id_of
from workbell.queues.port import Permit


class ReceivedHints(NamedTuple):
    """Hints and permits since the last claim. A hint stands for anything: what it is about must be read."""

    hinted: bool
    permits: Sequence[Permit]

    @property
    def runs(self) -> list[str]:
        """Runs that the permits name, if they tell all: no hint came, and no permit without a run."""
        named = [id_of(permit.run) for permit in self.permits if permit.run is not None]
        return [] if self.hinted or len(named) < len(self.permits) else named


class ClaimHints:
    """Received from any thread, and taken by the claims before they read the store."""

    def __init__(self) -> None:
        self.waker = Waker()
        self._lock = threading.Lock()
        self._hinted = False
        self._permits: list[Permit] = []
        self._in_use = 0  # permits of the claim that is under way

    def hint(self) -> None:
        with self._lock:
            self._hinted = True
        self.waker.wake()

    def permit(self, permits: Sequence[Permit]) -> None:
        with self._lock:
            self._permits += permits
        self.waker.wake()

    @property
    def pending(self) -> int:
        """Permits whose runs are not claimed yet: each may need a slot."""
        return len(self._permits) + self._in_use

    def take(self) -> ReceivedHints:
        with self._lock:
            received = ReceivedHints(self._hinted, self._permits)
            self._hinted, self._permits, self._in_use = False, [], len(received.permits)
        return received

    def settle(self) -> bool:
        """The claim for what was taken is over; whether there were permits among it."""
        were, self._in_use = self._in_use > 0, 0
        return were
