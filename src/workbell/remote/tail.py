"""Tail of new events, by polling the newest ones.

An event may be committed after one that is younger. So the last minute is read again and again, and the ids that were
shown are remembered. After a burst that minute is many pages: most polls read only until nothing is new, and the whole
minute is read at intervals.

The minute is counted from the newest id, and a machine whose clock is ahead makes ids of the future. So the newest page
is compared as a whole, however old its events are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbell.model.event import Event

WINDOW = 60_000  # milliseconds: how late an event may be committed after its id was made
THOROUGH = 10.0  # seconds between reads of the whole window, where it is more than a page
PAGE = 200


class RemoteTail:
    """Poller of new events. Times are those in the service's ids: this machine's clock may differ.

    `now` is a monotonic clock, in seconds. It says how much time has passed since the newest event was seen.
    """

    def __init__(self, listed: Callable[[str | None, int], Sequence[Event]], now: float) -> None:
        self._listed = listed
        self._ahead: float | None = None  # milliseconds of the service's clock before `now`, at the least
        self._floor = 0  # the next read of the whole window goes back to here
        self._thorough_at = 0.0
        self._seen: set[str] = set()
        newest = listed(None, PAGE)
        if newest:  # what is there already is not new
            self._note(newest, now)
            self._raise_floor(newest, now)
            self.poll(now)

    def poll(self, now: float) -> list[Event]:
        """New events, oldest first."""
        thorough = now >= self._thorough_at
        found: list[Event] = []
        newest = page = self._listed(None, PAGE)
        pages = 1
        while True:
            recent = [event for event in page if made_at(event.id) >= self._floor]
            new = [event for event in recent if event.id not in self._seen]
            found += new
            if len(page) < PAGE or len(recent) < len(page) or not (new or thorough):
                break
            page = self._listed(page[-1].id, PAGE)
            pages += 1
        self._seen.update(event.id for event in found)
        self._note(found, now)
        if thorough:
            self._thorough_at = now + (THOROUGH if pages > 1 else 0)
            self._raise_floor(newest, now)
        return sorted(found, key=lambda event: event.id)

    def _note(self, events: Sequence[Event], now: float) -> None:
        """An event that is seen now was made before now, by the service's clock. If the youngest seems older than a
        window, what was known of that clock came from one that was ahead."""
        if not events:
            return
        ahead = max(made_at(event.id) for event in events) - now * 1000
        if self._ahead is None or ahead > self._ahead or ahead < self._ahead - WINDOW:
            self._ahead = ahead

    def _raise_floor(self, newest: Sequence[Event], now: float) -> None:
        """Whatever is committed after this read was made less than a window ago, or is on the newest page."""
        if self._ahead is not None and len(newest) == PAGE:
            below_page = made_at(newest[-1].id) + 1
            self._floor = max(self._floor, min(int(self._ahead + now * 1000) - WINDOW, below_page))
            self._seen = {event_id for event_id in self._seen if made_at(event_id) >= self._floor}


def made_at(event_id: str) -> int:
    """The millisecond that an id was made in."""
    return int(event_id.replace("-", "")[:12], 16)
