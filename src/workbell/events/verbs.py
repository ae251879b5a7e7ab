"""The verbs that read events: get, list, matches, counts, match and tail. Sync, and async with an `a`."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from workbell.errors import EventNotFound, InvalidOption
from workbell.events.subscriptions import Subscriber
from workbell.events.tail import EventTail
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event, Match, MatchOutcome
from workbell.model.event_count import EventCount
from workbell.model.event_subscribers import EventSubscriber, Matched, SubscriberKind
from workbell.model.ids import is_id
from workbell.model.patterns import PatternIndex, check_pattern, check_type, is_literal, matches
from workbell.model.system_events import SYSTEM_TYPES
from workbell.runs.runtime import Runtime, in_thread

PAGE = 1000
MOST_ASKED = 100  # events whose matches are counted at once
MOST_COUNTED = 100  # matches of an event; some have a hundred thousand
MOST_SEARCHED = 10_000  # events read for those that match a pattern: no store has an index for it


class Events:
    """The events of a tenant: `bell.events`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def get(self, event_id: str) -> Event:
        """An event by its id."""
        found = None
        if is_id(event_id):
            found = self._runtime.store.events.find([event_id]).get(event_id)
        if found is None or found.tenant != self._runtime.tenant:
            raise EventNotFound(
                f"There is no event {event_id!r:.60} of tenant {self._runtime.tenant}; it may have been removed."
            )
        return found

    aget = in_thread(get)

    def list(self, *, type: str | None = None, before: str | None = None, limit: int = 100) -> list[Event]:  # noqa: A002
        """Events, newest first; `before` is the id of the last one of the page before.

        `type` is a type or a pattern. A pattern selects what a trigger with it would match, among the 10,000 events
        before `before`.
        """
        _check_page(before, limit)
        store, tenant = self._runtime.store, self._runtime.tenant
        if type is None or is_literal(check_pattern(type)):
            return store.events.list(tenant, type=type, before=before, limit=limit)
        wanted, found = PatternIndex([(type, True)]), list[Event]()
        for _ in range(0, MOST_SEARCHED, PAGE):
            page = store.events.list(tenant, type=None, before=before, limit=PAGE)
            found += [event for event in page if wanted.match(event.type, system=event.system)]
            if len(found) >= limit or len(page) < PAGE:
                break
            before = page[-1].id
        return found[:limit]

    alist = in_thread(list)  # noqa: A003

    def matches(self, event_id: str, *, after: str | None = None, limit: int = PAGE) -> Sequence[Matched]:
        """Matches of an event, with their outcomes; `after` is the `subscriber` of the last one of a page.

        Nothing, as long as the event was not fanned out: its `fanned_out_at` says whether it was.
        """
        _check_page(after, limit)
        event = self.get(event_id)
        found = self._runtime.store.events.matches(event.id, after=after, limit=limit)
        known = self._runtime.subscriptions.current() if found else None
        if known is None:
            return []
        return [
            _matched(match, known.triggers.get(match.subscriber) or known.endpoints.get(match.subscriber))
            for match in found
        ]

    amatches = in_thread(matches)

    def counts(self, ids: Sequence[str]) -> Sequence[EventCount]:
        """How much each of up to 100 events matched, and how much of that became a run; those not found are left out.

        The matches of an event are counted up to 100.
        """
        if len(ids) > MOST_ASKED:
            raise InvalidOption(f"ids: {len(ids)} are more than {MOST_ASKED} at once.")
        wanted = [one for one in dict.fromkeys(ids) if is_id(one)]
        known = self._runtime.store.events.find(wanted)
        tenant = self._runtime.tenant
        return [self._count(known[one]) for one in wanted if one in known and known[one].tenant == tenant]

    acounts = in_thread(counts)

    def _count(self, event: Event) -> EventCount:
        fanned_out = event.fanned_out_at is not None
        events = self._runtime.store.events
        found = events.matches(event.id, after=None, limit=MOST_COUNTED + 1) if fanned_out else []
        counted = found[:MOST_COUNTED]
        return EventCount(
            event=event.id,
            type=event.type,
            fanned_out=fanned_out,
            count=len(counted),
            started=sum(match.outcome is MatchOutcome.STARTED for match in counted),
            capped=len(found) > MOST_COUNTED,
        )

    def match(self, type: str, *, system: bool | None = None) -> Sequence[EventSubscriber]:  # noqa: A002
        """Which triggers and endpoints an event of this type would reach, enabled or not; nothing is emitted.

        `system` says that it is one of Workbell's own; the default follows from the type.
        """
        own = check_type(type) in SYSTEM_TYPES
        system = own if system is None else system
        known = self._runtime.subscriptions.current()
        return [
            _subscriber(one, type, system) for one in known.subscribers_to(self._runtime.tenant, type, system=system)
        ]

    amatch = in_thread(match)

    def tail(self, *, type: str | None = None) -> Generator[Event, None, None]:  # noqa: A002
        """The events that come from now on, as they come, for as long as you ask for the next one.

        `type` is a type or a pattern. Also what was emitted in a transaction that took a while is there, up to a
        minute; then it comes after events that are younger.
        """
        if type is not None:
            check_pattern(type)
        return EventTail(self._runtime.store, self._runtime.tenant, type).events()


def _check_page(page_id: str | None, limit: int) -> None:
    if not 1 <= limit <= PAGE:
        raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
    if page_id is not None and not is_id(page_id):
        raise InvalidOption(f"{page_id!r:.60} is no id: give that of the last one of the page before.")


def _kind(one: Subscriber) -> tuple[SubscriberKind, str]:
    return ("endpoint", one.shown_url) if isinstance(one, Endpoint) else ("trigger", one.name)


def _matched(match: Match, one: Subscriber | None) -> Matched:
    kind, name = (None, None) if one is None else _kind(one)
    return Matched(match.event, kind, match.subscriber, name, match.outcome, match.run, match.reason, match.created_at)


def _subscriber(one: Subscriber, type: str, system: bool) -> EventSubscriber:  # noqa: A002
    kind, name = _kind(one)
    every = one.patterns if isinstance(one, Endpoint) else (one.pattern,)
    patterns = tuple(pattern for pattern in every if matches(pattern, type, system=system))
    reason = one.reason if isinstance(one, Endpoint) else None
    return EventSubscriber(
        kind, one.id, name, patterns, one.enabled, reason, None if isinstance(one, Endpoint) else one.job
    )
