"""Announcer of queued runs: wakes the claims here, and sends a hint of the store and permits to a queue beside it."""

from __future__ import annotations

from collections.abc import Iterable

from workbell.engine.duty import Waker
from workbell.model.run import Run
from workbell.queues.guarded import GuardedQueue
from workbell.stores.port import Store


class Announcer:
    def __init__(self, store: Store, queue: GuardedQueue | None, claims: Waker) -> None:
        self._store = store
        self._queue = queue
        self._claims = claims

    def announce(self, runs: Iterable[Run]) -> None:
        """Announce runs that were queued. `runs` is iterated only if there is a queue beside the store's own."""
        self._claims.wake()
        self._store.wake()
        if self._queue is not None:
            self._queue.announce(runs)
