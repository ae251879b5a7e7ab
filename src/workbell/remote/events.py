"""Methods that read events, over HTTP: `client.events`."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

from workbell.model.event import Event
from workbell.model.event_subscribers import EventSubscriber, Matched
from workbell.remote import readers, words
from workbell.remote.call import Plan, RemoteCall, get, path
from workbell.remote.tail import RemoteTail
from workbell.remote.transport import ServiceTransport

PAGE = 1000
POLL = 1.0  # seconds between two polls for new events

_read_matches = readers.plain_items(Matched)
_read_subscribers = readers.plain_items(EventSubscriber)


class RemoteEvents:
    """The events of a tenant: `client.events`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def get(self, event_id: str) -> Event:
        """An event by its id."""
        return self._transport.send(_get(event_id))

    async def aget(self, event_id: str) -> Event:
        return await self._transport.asend(_get(event_id))

    def list(self, *, type: str | None = None, before: str | None = None, limit: int = 100) -> list[Event]:  # noqa: A002
        """Events, newest first, of a type or a pattern; `before` is the id of the last one of the page before."""
        return self._transport.follow(_list(type, before, limit))

    async def alist(
        self,
        *,
        type: str | None = None,  # noqa: A002
        before: str | None = None,
        limit: int = 100,
    ) -> Sequence[Event]:
        return await self._transport.afollow(_list(type, before, limit))

    def matches(self, event_id: str, *, after: str | None = None, limit: int = PAGE) -> Sequence[Matched]:
        """Matches of an event and their outcomes; `after` is the `subscriber` of the last one of a page.

        Nothing, as long as the event was not fanned out: its `fanned_out_at` says whether it was.
        """
        return self._transport.send(_matches(event_id, after, limit))

    async def amatches(self, event_id: str, *, after: str | None = None, limit: int = PAGE) -> Sequence[Matched]:
        return await self._transport.asend(_matches(event_id, after, limit))

    def match(self, type: str, *, system: bool | None = None) -> Sequence[EventSubscriber]:  # noqa: A002
        """Which triggers and endpoints an event of this type would reach, enabled or not; nothing is emitted."""
        return self._transport.send(_match(type, system))

    async def amatch(self, type: str, *, system: bool | None = None) -> Sequence[EventSubscriber]:  # noqa: A002
        return await self._transport.asend(_match(type, system))

    def tail(self, *, type: str | None = None) -> Generator[Event, None, None]:  # noqa: A002
        """The events that come from now on, as they come, for as long as you ask for the next one.

        `type` is a type or a pattern. The service is asked every second.
        """
        tail = RemoteTail(lambda before, limit: self.list(type=type, before=before, limit=limit))
        return self._new_ones(tail)

    def _new_ones(self, tail: RemoteTail) -> Generator[Event, None, None]:
        while True:
            yield from tail.poll()
            time.sleep(POLL)


def _get(event_id: str) -> RemoteCall[Event]:
    return get(path("events", event_id), words.read_event)


def _list(type: str | None, before: str | None, limit: int) -> Plan[list[Event]]:  # noqa: A002
    return readers.up_to(limit, path("events"), words.read_events, start=before, type=type)


def _matches(event_id: str, after: str | None, limit: int) -> RemoteCall[list[Matched]]:
    return get(path("events", event_id, "matches"), _read_matches, after=after, limit=limit)


def _match(type: str, system: bool | None) -> RemoteCall[list[EventSubscriber]]:  # noqa: A002
    return get(path("events", "match"), _read_subscribers, type=type, system=system)
