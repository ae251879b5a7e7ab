"""Event tail: new events as they come, read at every hint of the store, and by polling.

Ids carry the time they were made at, and an event may be committed after one that is younger. So no id marks
the end of what was seen: the last minute is read again and again, and the ids that were shown are remembered.
"""

from __future__ import annotations

import time
from collections.abc import Generator

from workbell.model.event import Event
from workbell.model.ids import new_id
from workbell.model.patterns import PatternIndex, is_literal
from workbell.stores.port import Store

WINDOW = 60.0  # seconds: how late an event may be committed after its id was made
POLL = 1.0  # seconds without a hint after which we read anyway
GAP = 0.05  # seconds between two reads, however many hints there are
THOROUGH = 2.0  # seconds between reads of the whole window, which may be large
PAGE = 200


class EventTail:
    def __init__(self, store: Store, tenant: str, pattern: str | None) -> None:
        self._store = store
        self._tenant = tenant
        self._type = pattern if pattern is not None and is_literal(pattern) else None
        self._wanted: PatternIndex[bool] | None = None
        if pattern is not None and self._type is None:
            self._wanted = PatternIndex([(pattern, True)])
        self._seen: set[str] = set()
        self._thorough_at = 0.0
        self._read_new()  # existing events are not new

    def events(self) -> Generator[Event, None, None]:
        watch = self._store.watch()
        try:
            while True:
                yield from self._read_new()
                watch.wait(POLL)
                time.sleep(GAP)
        finally:
            watch.close()

    def _read_new(self) -> list[Event]:
        """Events that were not seen before, oldest first."""
        floor, now = _floor(), time.monotonic()
        thorough = now >= self._thorough_at
        if thorough:
            self._thorough_at = now + THOROUGH
            self._seen = {event_id for event_id in self._seen if event_id >= floor}
        found: list[Event] = []
        before: str | None = None
        while True:
            page = self._store.events.list(self._tenant, type=self._type, before=before, limit=PAGE)
            new = [event for event in page if event.id >= floor and event.id not in self._seen]
            found += new
            self._seen.update(event.id for event in new)
            if len(page) < PAGE or page[-1].id < floor or not (new or thorough):
                break
            before = page[-1].id
        found.reverse()
        wanted = self._wanted
        return [event for event in found if wanted is None or wanted.match(event.type, system=event.system)]


def _floor() -> str:
    """The lowest id that can have been made in the window: ids begin with the milliseconds of their making."""
    now = int(new_id().replace("-", "")[:12], 16)
    text = f"{now - int(WINDOW * 1000):012x}"
    return f"{text[:8]}-{text[8:]}-0000-0000-000000000000"
