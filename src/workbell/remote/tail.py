"""Tail of new events, by polling the newest ones.

An event may be committed after one that is younger. So every poll reads the last minute before the newest
one again, and remembers the ids that it has shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbell.model.event import Event

WINDOW = 60_000  # milliseconds: how late an event may be committed after its id was made
PAGE = 200


class RemoteTail:
    """Poller of new events. Times are those in the service's ids: this machine's clock may differ."""

    def __init__(self, listed: Callable[[str | None, int], Sequence[Event]]) -> None:
        self._listed = listed
        self._floor = 0
        self._seen: set[str] = set()
        newest = listed(None, 1)
        if newest:  # what is there already is not new
            self._floor = made_at(newest[0].id) - WINDOW
            self.poll()

    def poll(self) -> list[Event]:
        """New events, oldest first."""
        found: list[Event] = []
        before: str | None = None
        while True:
            page = self._listed(before, PAGE)
            recent = [event for event in page if made_at(event.id) >= self._floor]
            found += [event for event in recent if event.id not in self._seen]
            if len(page) < PAGE or len(recent) < len(page):
                break
            before = page[-1].id
        self._seen.update(event.id for event in found)
        if found:
            self._floor = max(self._floor, max(made_at(event.id) for event in found) - WINDOW)
            self._seen = {event_id for event_id in self._seen if made_at(event_id) >= self._floor}
        return sorted(found, key=lambda event: event.id)


def made_at(event_id: str) -> int:
    """The millisecond that an id was made in."""
    return int(event_id.replace("-", "")[:12], 16)
