"""Ear: permits of a queue wake the worker. They are taken only while a hand is free: another worker may have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from workbell.queues.port import Queue

WAIT = 60.0  # seconds that a `receive` may last


class PermitListener:
    def __init__(
        self,
        queue: Queue,
        heard: Callable[[], None],
        *,
        serves: Sequence[str] | None = None,
        room: Callable[[], int] = lambda: 1,
    ) -> None:
        """`room` is how many permits can be used; while it is 0, the duty waits until it is woken."""
        self._queue = queue
        self._heard = heard
        self._serves = serves
        self._room = room

    def step(self, _now: datetime) -> float | None:
        room = self._room()
        if room <= 0:
            return None
        permits = self._queue.receive(room, WAIT, self._serves)
        if not permits:
            return 0
        receipts = [permit.receipt for permit in permits if permit.receipt is not None]
        if self._room() <= 0:  # meanwhile it has found enough by itself
            self._queue.give_back(receipts, 0)
            return None
        # Before the claim: what is claimed has a lease, and what is not is found by whoever polls next.
        self._queue.ack(receipts)
        self._heard()
        return 0
