"""LRU cache of events for handlers, per store: one event often starts many runs, and never changes.

Bounded in events and in characters of data.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

from workbell.model.event import Event
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.port import Store

MOST = 256
MOST_DATA = 8 * 2**20  # characters of data, over all of a store


class _Cache:
    """The events of one store."""

    def __init__(self) -> None:
        self.events: OrderedDict[str, Event] = OrderedDict()
        self.data = 0

    def add(self, event: Event) -> None:
        size = _size(event)
        if event.id in self.events or size > MOST_DATA:
            return
        self.events[event.id] = event
        self.data += size
        while len(self.events) > MOST or self.data > MOST_DATA:
            _, oldest = self.events.popitem(last=False)
            self.data -= _size(oldest)


class KnownEvents:
    """Cache of events, safe for threads."""

    def __init__(self) -> None:
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._stores: WeakKeyDictionary[Store, _Cache] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def peek(self, store: Store, event_id: str) -> Event | None:
        """The event if it is cached; the store is not read."""
        with self._lock:
            cache = self._stores.get(store)
            found = None if cache is None else cache.events.get(event_id)
            if cache is not None and found is not None:
                cache.events.move_to_end(event_id)
            return found

    def find(self, store: Store, event_id: str) -> Event | None:
        """The event from the cache or the store; None if it is in neither."""
        found = self.peek(store, event_id)
        if found is None:
            found = store.events.find([event_id]).get(event_id)
            if found is not None:
                with self._lock:
                    self._stores.setdefault(store, _Cache()).add(found)
        return found


def _size(event: Event) -> int:
    return 0 if event.data_text is None else len(event.data_text)


known_events = KnownEvents()
