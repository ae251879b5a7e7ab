"""The verbs for looking at events: get, list, matches, match and tail. Sync, and async with an `a`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from workbell.errors import EventNotFound, InvalidOption
from workbell.events.subscriptions import Subscriber
from workbell.events.tail import EventTail
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event, Match
from workbell.model.event_hearers import Hearer, Matched
from workbell.model.ids import is_id
from workbell.model.patterns import PatternIndex, check_pattern, check_type, is_literal, matches
from workbell.model.system_events import SYSTEM_TYPES

if TYPE_CHECKING:
    from workbell.client.client import Client

PAGE = 1000
MOST_LOOKED_THROUGH = 10_000  # events, for those that match a pattern: no store has an index for it


class Events:
    """The events of a tenant: `bell.events`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, event_id: str) -> Event:
        """An event by its id."""
        found = None
        if is_id(event_id):
            found = self._client.store.events.find([event_id]).get(event_id)
        if found is None or found.tenant != self._client.tenant:
            raise EventNotFound(
                f"There is no event {event_id!r:.60} of tenant {self._client.tenant}; it may have been removed."
            )
        return found

    async def aget(self, event_id: str) -> Event:
        return await self._client.hop(self.get, event_id)

    def list(self, *, type: str | None = None, before: str | None = None, limit: int = 100) -> list[Event]:  # noqa: A002
        """Events, newest first; `before` is the id of the last one of the page before.

        `type` is a type or a pattern. A pattern selects what a trigger with it would hear of, among the 10,000
        events before `before`.
        """
        _check_page(before, limit)
        store, tenant = self._client.store, self._client.tenant
        if type is None or is_literal(check_pattern(type)):
            return store.events.list(tenant, type=type, before=before, limit=limit)
        wanted, found = PatternIndex([(type, True)]), list[Event]()
        for _ in range(0, MOST_LOOKED_THROUGH, PAGE):
            page = store.events.list(tenant, type=None, before=before, limit=PAGE)
            found += [event for event in page if wanted.match(event.type, system=event.system)]
            if len(found) >= limit or len(page) < PAGE:
                break
            before = page[-1].id
        return found[:limit]

    async def alist(
        self,
        *,
        type: str | None = None,  # noqa: A002
        before: str | None = None,
        limit: int = 100,
    ) -> Sequence[Event]:
        return await self._client.hop(lambda: self.list(type=type, before=before, limit=limit))

    def matches(self, event_id: str, *, after: str | None = None, limit: int = PAGE) -> Sequence[Matched]:
        """What an event matched, and what came of it; `after` is the `subscriber` of the last one of a page.

        Nothing, as long as the event was not fanned out: its `fanned_out_at` says whether it was.
        """
        _check_page(after, limit)
        event = self.get(event_id)
        found = self._client.store.events.matches(event.id, after=after, limit=limit)
        known = self._client.subscriptions.current() if found else None
        if known is None:
            return []
        return [
            _matched(match, known.triggers.get(match.subscriber) or known.endpoints.get(match.subscriber))
            for match in found
        ]

    async def amatches(self, event_id: str, *, after: str | None = None, limit: int = PAGE) -> Sequence[Matched]:
        return await self._client.hop(lambda: self.matches(event_id, after=after, limit=limit))

    def match(self, type: str, *, system: bool | None = None) -> Sequence[Hearer]:  # noqa: A002
        """Which triggers and endpoints an event of this type would reach, enabled or not; nothing is emitted.

        `system` says that it is one of Workbell's own; left out, the type tells.
        """
        own = check_type(type) in SYSTEM_TYPES
        system = own if system is None else system
        known = self._client.subscriptions.current()
        return [_hearer(one, type, system) for one in known.who_hears(self._client.tenant, type, system=system)]

    async def amatch(self, type: str, *, system: bool | None = None) -> Sequence[Hearer]:  # noqa: A002
        return await self._client.hop(lambda: self.match(type, system=system))

    def tail(self, *, type: str | None = None) -> Generator[Event, None, None]:  # noqa: A002
        """The events that come from now on, as they come, for as long as you ask for the next one.

        `type` is a type or a pattern. Also what was emitted in a transaction that took a while is there, up to a
        minute; then it comes after events that are younger.
        """
        if type is not None:
            check_pattern(type)
        return EventTail(self._client.store, self._client.tenant, type).events()


def _check_page(place: str | None, limit: int) -> None:
    if not 1 <= limit <= PAGE:
        raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
    if place is not None and not is_id(place):
        raise InvalidOption(f"{place!r:.60} is no id: give that of the last one of the page before.")


def _kind(one: Subscriber) -> tuple[str, str]:
    return ("endpoint", one.shown_url) if isinstance(one, Endpoint) else ("trigger", one.name)


def _matched(match: Match, one: Subscriber | None) -> Matched:
    kind, name = (None, None) if one is None else _kind(one)
    return Matched(match.event, kind, match.subscriber, name, match.outcome, match.run, match.reason, match.created_at)


def _hearer(one: Subscriber, type: str, system: bool) -> Hearer:  # noqa: A002
    kind, name = _kind(one)
    every = one.patterns if isinstance(one, Endpoint) else (one.pattern,)
    heard = tuple(pattern for pattern in every if matches(pattern, type, system=system))
    reason = one.reason if isinstance(one, Endpoint) else None
    return Hearer(kind, one.id, name, heard, one.enabled, reason, None if isinstance(one, Endpoint) else one.job)
