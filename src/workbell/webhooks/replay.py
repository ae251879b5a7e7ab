"""Replay of events to an endpoint: each as a new delivery that replaces the old one in the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from workbell.errors import EventNotFound, InvalidOption
from workbell.events.fan_out import delivery_destination, request_for
from workbell.model.clock import aware
from workbell.model.endpoint import Endpoint
from workbell.model.event import Match, MatchOutcome, Rematch
from workbell.model.ids import is_id
from workbell.model.run import Run, Status
from workbell.model.run_defaults import Maker
from workbell.process.identity import process_name
from workbell.stores.port import Store

PAGE = 500
AGAIN = (Status.FAILED, Status.CANCELED)


def replay(store: Store, endpoint: Endpoint, *, event: str | None, since: datetime | None) -> list[Run]:
    """The runs that were made."""
    if (event is None) == (since is None):
        raise InvalidOption("replay: name one event, or say since when; one of the two.")
    if since is not None:
        after = aware("since", since)
        pages = _pages(store, endpoint, after)
        return [run for page in pages for run in _send(store, endpoint, _undelivered(store, page))]
    known = store.events.find([event]).get(event) if event is not None and is_id(event) else None
    if known is None or known.tenant != endpoint.tenant:
        raise EventNotFound(f"There is no event {event!r:.60} to send again; it may have been removed.")
    found = next((match for match in matches_of(store, known.id) if match.subscriber == endpoint.id), None)
    if found is None:
        raise InvalidOption(f"event {event} did not match endpoint {endpoint.id}; see `workbell events show {event}`.")
    return _send(store, endpoint, [found])


def matches_of(store: Store, event: str) -> Iterator[Match]:
    """The whole ledger of an event, by subscriber."""
    after = None
    while page := store.events.matches(event, after=after, limit=PAGE):
        yield from page
        after = page[-1].subscriber


def _pages(store: Store, endpoint: Endpoint, since: datetime) -> Iterator[list[Match]]:
    """From the newest back; events are not matched in quite the order of their ids, so a whole page must be older."""
    before = None
    while page := store.events.matches_of_subscriber(endpoint.id, before=before, limit=PAGE):
        recent = [match for match in page if match.created_at >= since]
        if not recent:
            return
        yield recent
        before = page[-1].event


def _undelivered(store: Store, matches: list[Match]) -> list[Match]:
    """Those that were not sent because the endpoint was disabled, or whose delivery failed or was canceled."""
    runs = store.runs.find([match.run for match in matches if match.run is not None])
    return [
        match
        for match in matches
        if match.outcome is MatchOutcome.DISABLED
        or (match.run is not None and (run := runs.get(match.run)) is not None and run.status in AGAIN)
    ]


def _send(store: Store, endpoint: Endpoint, matches: list[Match]) -> list[Run]:
    now = store.clock.now()
    events = store.events.find([match.event for match in matches])
    destination = delivery_destination(endpoint)
    again, runs = [], []
    for match in matches:
        if match.event in events:
            request = request_for(events[match.event], endpoint, now, destination, Maker(process_name()))
            started = {"outcome": MatchOutcome.STARTED, "run": request.run.id, "reason": None}
            again.append(Rematch(request, msgspec.structs.replace(match, **started), match.run))
            runs.append(request.run)
    made = store.events.rematch(again)  # not those that somebody else replays at this moment
    return [run for run in runs if run.id in made]
