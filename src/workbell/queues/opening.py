"""Opening a queue by its URL: `store://`, or one of a third party by an entry point of `workbell.queues`."""

from __future__ import annotations

from workbell.adapters import AdapterKind
from workbell.errors import InvalidUrl, SettingsError
from workbell.queues.guarded import GuardedQueue
from workbell.queues.in_store import InStoreQueue
from workbell.queues.port import Queue
from workbell.stores.port import Store

OURS = "store"
KIND = AdapterKind("queue", "workbell.queues", (OURS,), f"{OURS}://", port=Queue, error=SettingsError)


def open_queue(url: str, store: Store) -> Queue:
    scheme = KIND.scheme_of(url)
    if scheme == OURS:
        _check_own(url)
        return InStoreQueue(store)
    queue: Queue = KIND.open(scheme, url, store=store)
    return queue


def open_beside(url: str, store: Store) -> GuardedQueue | None:
    """The queue beside the store's own hints, which always count; None, if the URL names just these."""
    if KIND.scheme_of(url) == OURS:
        _check_own(url)
        return None
    return GuardedQueue(open_queue(url, store))


def _check_own(url: str) -> None:
    if url != f"{OURS}://":
        raise InvalidUrl(f"The queue {OURS}:// takes nothing after it: write {OURS}://.")
