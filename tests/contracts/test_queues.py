"""The contract of a queue, on the queue inside the store, for all three stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from workbell.queues.in_store import InStoreQueue
from workbell.queues.port import Sent
from workbell.stores.port import Store
from workbell.testing.contracts.making import request
from workbell.testing.contracts.queue import Connect, QueueContract


class InStoreSender(InStoreQueue):
    """As the engine sends: after a commit, which is what watchers of a SQLite file hear."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._add = store.runs.add

    def send(self, sent: Sequence[Sent]) -> None:
        if sent:
            self._add([request()])
        super().send(sent)


class TestInStoreQueue(QueueContract):
    @pytest.fixture
    def connect(self, store: Store) -> Iterator[Connect]:
        opened: list[InStoreQueue] = []

        def connect() -> InStoreQueue:
            opened.append(InStoreSender(store))
            return opened[-1]

        yield connect
        for queue in opened:
            queue.close()
