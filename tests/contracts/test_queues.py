"""The contract of a queue, on the queue inside the store, for all three stores."""

import pytest

from workbell.queues.in_store import InStoreQueue
from workbell.queues.port import Queue
from workbell.stores.port import Store
from workbell.testing.contracts.queue import QueueContract


class TestInStoreQueue(QueueContract):
    @pytest.fixture
    def queue(self, store: Store) -> Queue:
        return InStoreQueue(store)
