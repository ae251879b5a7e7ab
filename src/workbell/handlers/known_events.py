"""Events that handlers have asked for lately: one event often starts many runs, and never changes.

They are kept for each store of this process, up to a number and an amount of data; the one asked for longest ago goes
first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

from workbell.model.event import Event
from workbell.process.fork_safety import in_every_child
from workbell.stores.port import Store

MOST = 256
MOST_DATA = 8 * 2**20  # characters of data, over all of a store


class _Kept:
    """The events of one store."""

    def __init__(self) -> None:
        self.events: OrderedDict[str, Event] = OrderedDict()
        self.data = 0

    def keep(self, event: Event) -> None:
        size = _size(event)
        if event.id in self.events or size > MOST_DATA:
            return
        self.events[event.id] = event
        self.data += size
        while len(self.events) > MOST or self.data > MOST_DATA:
            _, oldest = self.events.popitem(last=False)
            self.data -= _size(oldest)


class KnownEvents:
    """May be used by any number of threads."""

    def __init__(self) -> None:
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        self._stores: WeakKeyDictionary[Store, _Kept] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def peek(self, store: Store, event_id: str) -> Event | None:
        """The event if it is at hand; the store is not asked."""
        with self._lock:
            kept = self._stores.get(store)
            found = None if kept is None else kept.events.get(event_id)
            if kept is not None and found is not None:
                kept.events.move_to_end(event_id)
            return found

    def find(self, store: Store, event_id: str) -> Event | None:
        """The event, from the store if it is not at hand; none if it is in neither."""
        found = self.peek(store, event_id)
        if found is None:
            found = store.events.find([event_id]).get(event_id)
            if found is not None:
                with self._lock:
                    self._stores.setdefault(store, _Kept()).keep(found)
        return found


def _size(event: Event) -> int:
    return 0 if event.data_text is None else len(event.data_text)


known_events = KnownEvents()
