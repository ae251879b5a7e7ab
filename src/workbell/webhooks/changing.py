"""Compare-and-set changes of an endpoint: read, decide, write if the version is unchanged, else again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from workbell.errors import StoreError
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event
from workbell.stores.port import Store

TRIES = 20


class EndpointUpdate(NamedTuple):
    """A changed endpoint, and the events that it publishes."""

    endpoint: Endpoint
    emits: tuple[Event, ...] = ()


def change(store: Store, endpoint_id: str, decide: Callable[[Endpoint], EndpointUpdate | None]) -> Endpoint | None:
    """Change an endpoint, and retry if somebody else was faster; None: it does not exist, or needs no change."""
    for _ in range(TRIES):
        known = store.subscribers.find_endpoint(endpoint_id)
        new = None if known is None else decide(known)
        if known is None or new is None:
            return None
        if store.subscribers.write_endpoint(new.endpoint, known.version, new.emits):
            if new.emits:
                store.wake()
            return msgspec.structs.replace(new.endpoint, version=known.version + 1)
    raise StoreError(f"endpoint {endpoint_id}: others change it all the time; try again.")
