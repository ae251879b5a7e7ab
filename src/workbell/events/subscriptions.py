"""Who hears of which events: all triggers and endpoints of the store, kept in mind and compiled.

The store says with one number whether they have changed. That is asked for each batch of events, after the batch was
read: so an event never misses a trigger that was there before it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from workbell.model.endpoint import Endpoint
from workbell.model.event import Event
from workbell.model.trigger import Trigger
from workbell.patterns import PatternIndex
from workbell.stores.port import Store

Subscriber = Trigger | Endpoint


class Snapshot:
    """Triggers and endpoints as they were at one moment, by tenant."""

    def __init__(self, version: int, triggers: Iterable[Trigger], endpoints: Iterable[Endpoint]) -> None:
        self.version = version
        self.endpoints = {endpoint.id: endpoint for endpoint in endpoints}
        self.triggers = {trigger.id: trigger for trigger in triggers}
        # Indexed by their ids: to hash an endpoint itself, all of it would be read.
        listed: dict[str, list[tuple[str, str]]] = {}
        for trigger in self.triggers.values():
            listed.setdefault(trigger.tenant, []).append((trigger.pattern, trigger.id))
        for endpoint in self.endpoints.values():
            listed.setdefault(endpoint.tenant, []).extend((pattern, endpoint.id) for pattern in endpoint.patterns)
        self._indexes = {tenant: PatternIndex(pairs) for tenant, pairs in listed.items()}

    def match(self, event: Event) -> list[Subscriber]:
        """Who hears of an event, also if it is disabled."""
        return self.who_hears(event.tenant, event.type, system=event.system)

    def who_hears(self, tenant: str, type: str, *, system: bool = False) -> list[Subscriber]:  # noqa: A002
        index = self._indexes.get(tenant)
        if index is None:
            return []
        found = (self.triggers.get(name) or self.endpoints.get(name) for name in index.match(type, system=system))
        return [subscriber for subscriber in found if subscriber is not None]


class Subscriptions:
    """The newest snapshot; made anew when the store's number is another one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None

    def current(self) -> Snapshot:
        """As of now: the store is asked whether anything has changed."""
        version = self._store.subscriptions_version()
        with self._lock:
            if self._snapshot is None or self._snapshot.version != version:
                self._snapshot = Snapshot(version, self._store.list_triggers(), self._store.list_endpoints())
            return self._snapshot
