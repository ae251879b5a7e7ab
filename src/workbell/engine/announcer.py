"""Announcer of queued runs: permits to the queue beside the store; without one, or where it fails, hints of the store.

A hint wakes every worker of the fleet, and each of them reads the store; a permit wakes one. So for a run that was sent
to a queue no hint is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbell.model.run import Run
from workbell.queues.guarded import GuardedQueue
from workbell.stores.port import Store


class Announcer:
    """`hint` is that of the engine here."""

    def __init__(self, store: Store, queue: GuardedQueue | None, hint: Callable[[], None]) -> None:
        self._store = store
        self._queue = queue
        self._hint = hint

    def announce(self, runs: Iterable[Run]) -> None:
        """Announce runs that were queued. `runs` is iterated only if there is a queue beside the store's own."""
        if self._queue is None or not self._queue.announce_all(runs):
            self._hint()
            self._store.wake()
