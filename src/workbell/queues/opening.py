"""Opening a queue by its URL: our schemes from a table, those of third parties by entry points of `workbell.queues`."""

from __future__ import annotations

from collections.abc import Callable

from workbell.adapters import AdapterKind
from workbell.errors import InvalidUrl, MissingPackage, SettingsError
from workbell.queues.guarded import GuardedQueue
from workbell.queues.in_store import InStoreQueue
from workbell.queues.port import Queue
from workbell.stores.port import Store

STORE = "store"


def open_queue(url: str, store: Store) -> Queue:
    scheme = KIND.scheme_of(url)
    if scheme in _OURS:
        return _OURS[scheme](url, store)
    queue: Queue = KIND.open(scheme, url, store=store)
    return queue


def open_beside(url: str, store: Store) -> GuardedQueue | None:
    """The queue that announces runs beside the store's own hints; None, if the URL names just these."""
    queue = open_queue(url, store)
    return None if isinstance(queue, InStoreQueue) else GuardedQueue(queue)


def _open_in_store(url: str, store: Store) -> Queue:
    if url != f"{STORE}://":
        raise InvalidUrl(f"The queue {STORE}:// takes nothing after it: write {STORE}://.")
    return InStoreQueue(store)


def _open_cloudflare(url: str, _store: Store) -> Queue:
    try:
        from workbell.queues.cloudflare import open_url
    except ImportError as error:
        raise MissingPackage("Cloudflare Queues need an HTTP client: pip install 'workbell[cloudflare]'.") from error
    return open_url(url)


def _open_redis(url: str, store: Store) -> Queue:
    try:
        from workbell.queues.redis import open_url
    except ImportError as error:
        raise MissingPackage("A Redis queue needs its driver: pip install 'workbell[redis]'.") from error
    return open_url(url, store=store)


_OURS: dict[str, Callable[[str, Store], Queue]] = {
    "cloudflare-queue": _open_cloudflare,
    "redis": _open_redis,
    "rediss": _open_redis,
    STORE: _open_in_store,
    "unix": _open_redis,
}

KIND = AdapterKind(
    "queue",
    "workbell.queues",
    _OURS,
    f"{STORE}://, redis://host:6379/0 or cloudflare-queue://ACCOUNT/QUEUE",
    port=Queue,
    error=SettingsError,
)
