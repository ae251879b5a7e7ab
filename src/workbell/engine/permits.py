"""Receiver of a queue's permits, which wake the claims. Takes one only while a slot is free: others get the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from workbell.queues.port import Permit

WAIT = 60.0  # seconds that a `receive` may last


class PermitSource(Protocol):
    """The receiving half of a queue."""

    def receive(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]: ...

    def ack(self, receipts: Sequence[str]) -> None: ...

    def give_back(self, receipts: Sequence[str], delay: float) -> None: ...


class PermitListener:
    def __init__(
        self,
        queue: PermitSource,
        on_permit: Callable[[Sequence[Permit]], None],
        *,
        serves: Sequence[str] | None = None,
        room: Callable[[], int] = lambda: 1,
        rest: float = 0,
    ) -> None:
        """`room` is how many permits can be used; while it is 0, the duty waits until it is woken. `rest` are seconds
        until the next one is received; those that come meanwhile count as one."""
        self._queue = queue
        self._on_permit = on_permit
        self._serves = serves
        self._room = room
        self._rest = rest

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
        # Before the claim: what is claimed has a lease, and what is not is found by the next poll of any worker.
        self._queue.ack(receipts)
        self._on_permit(permits)
        return self._rest
