"""Subscriptions: all triggers and endpoints of the store, cached and compiled.

A version number in the store changes with them. It is read for each batch of events, after the batch was read: so an
event never misses a trigger that existed before it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from workbell.errors import InvalidEvent
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event
from workbell.model.patterns import PatternIndex, check_pattern
from workbell.model.trigger import Trigger
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.port import Store

log = logging.getLogger("workbell.events")

Subscriber = Trigger | Endpoint
Thing = TypeVar("Thing", Trigger, Endpoint)


class SubscriberSnapshot:
    """Snapshot of triggers and endpoints, by tenant."""

    def __init__(self, version: int, triggers: Iterable[Trigger], endpoints: Iterable[Endpoint]) -> None:
        self.version = version
        endpoints, triggers = _readable(endpoints), _readable(triggers)
        self.endpoints = {endpoint.id: endpoint for endpoint in endpoints}
        self.triggers = {trigger.id: trigger for trigger in triggers}
        # Indexed by their ids: to hash an endpoint itself, all of it would be read.
        listed: dict[str, list[tuple[str, str]]] = {}
        for trigger in self.triggers.values():
            listed.setdefault(trigger.tenant, []).extend(_usable(trigger.id, [trigger.pattern]))
        for endpoint in self.endpoints.values():
            listed.setdefault(endpoint.tenant, []).extend(_usable(endpoint.id, endpoint.patterns))
        self._indexes = {tenant: PatternIndex(pairs) for tenant, pairs in listed.items()}

    def match(self, event: Event) -> list[Subscriber]:
        """The subscribers of an event, also disabled ones."""
        return self.subscribers_to(event.tenant, event.type, system=event.system)

    def subscribers_to(self, tenant: str, type: str, *, system: bool = False) -> list[Subscriber]:  # noqa: A002
        index = self._indexes.get(tenant)
        if index is None:
            return []
        found = (self.triggers.get(name) or self.endpoints.get(name) for name in index.match(type, system=system))
        return [subscriber for subscriber in found if subscriber is not None]


def _readable(found: Iterable[Thing]) -> list[Thing]:
    """Without those that are broken in the store: the others must still get events."""
    readable = []
    for one in found:
        if one.unreadable is None:
            readable.append(one)
        else:
            log.error("%s receives no events: %s", one.id, one.unreadable)
    return readable


def _usable(subscriber: str, patterns: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Patterns are checked when they are written; one that is broken in the store must not stop the others."""
    for pattern in patterns:
        try:
            yield check_pattern(pattern), subscriber
        except InvalidEvent as error:
            log.error("%s receives no events: %s", subscriber, error)


class Subscriptions:
    """The newest snapshot; made again when the store's version number has changed."""

    def __init__(self, which: Callable[[], Store]) -> None:
        """`which` is called each time: a test, or a read command, may have given its owner another store."""
        self._which = which
        self.make_process_state()
        remake_after_fork(self)
        self._read_from: Store | None = None
        self._checked_at = 0.0

    def make_process_state(self) -> None:
        """In the beginning, and in a forked child: a thread may have been about to make a snapshot, or to match."""
        self._lock = threading.Lock()
        self._snapshot: SubscriberSnapshot | None = None

    @property
    def store(self) -> Store:
        return self._which()

    def recent(self, seconds: float) -> SubscriberSnapshot:
        """A snapshot that is at most so old: for callers that must not read from the store each time."""
        snapshot, store = self._snapshot, self.store
        if snapshot is None or store is not self._read_from or store.clock.monotonic() - self._checked_at > seconds:
            return self.current()
        return snapshot

    def current(self) -> SubscriberSnapshot:
        """The snapshot of now: the store's version number is read."""
        store = self.store
        checked_at = store.clock.monotonic()
        version = store.subscribers.version()
        with self._lock:
            if self._snapshot is None or self._snapshot.version != version or self._read_from is not store:
                self._snapshot = SubscriberSnapshot(
                    version, store.subscribers.list_triggers(), store.subscribers.list_endpoints()
                )
                self._read_from = store
            self._checked_at = checked_at
            return self._snapshot
