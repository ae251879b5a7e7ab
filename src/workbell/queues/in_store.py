"""Queue adapter over the store's own hints, which also announce other changes than runs."""

from __future__ import annotations

from collections.abc import Sequence

from workbell.queues.port import Permit, Sent
from workbell.stores.port import Store, StoreWatch

SOMETHING = [Permit()]


class InStoreQueue:
    """Queue adapter over `store.wake` and `store.watch`. A hint reaches every worker, and needs no answer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watch: StoreWatch | None = None

    def send(self, sent: Sequence[Sent]) -> None:
        self._store.wake()

    def listen(self) -> None:
        """Begin to receive hints now; else that begins with the first `receive`."""
        if self._watch is None:
            self._watch = self._store.watch()

    def receive(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
        self.listen()
        assert self._watch is not None
        return SOMETHING if self._watch.wait(wait) else []

    def ack(self, receipts: Sequence[str]) -> None: ...

    def give_back(self, receipts: Sequence[str], delay: float) -> None: ...

    def interrupt(self) -> None:
        if self._watch is not None:
            self._watch.interrupt()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
