"""Handlers of events: emit, list and show them, and test patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from workbell.events.emitting import Emitter, Fact
from workbell.http.framework.answers import JsonResponse
from workbell.http.framework.bounded_pages import PageSource, by_id, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.policies.idempotency import answer_once, idempotency_key, key_at
from workbell.model.access import Scope
from workbell.model.event import EmitKey, Event
from workbell.model.event_count import EventCount
from workbell.model.event_subscribers import Matched
from workbell.model.patterns import matches as is_match
from workbell.model.system_events import SYSTEM_TYPES
from workbell.wire import events
from workbell.wire.events import (
    CloudEvent,
    CountsQuery,
    EventBody,
    EventShown,
    EventsQuery,
    EventSubscribers,
    MatchesQuery,
    MatchQuery,
    NewEvents,
)
from workbell.wire.operation import Items, ListPage

served = Served()


@served(events.emit)
async def emit(call: ApiCall, body: EventBody | CloudEvent) -> Response:
    return await _make(call, [_fact(body)], lambda shown: shown[0])


@served(events.emit_batch)
async def emit_batch(call: ApiCall, body: NewEvents) -> Response:
    return await _make(call, [_fact(one) for one in body.events], lambda shown: Items(items=shown))


async def _make(
    call: ApiCall, facts: Sequence[Fact], answer: Callable[[list[EventShown]], EventShown | Items[EventShown]]
) -> Response:
    """Emit events. The idempotency key is written with them; if they have keys of their own, the answer is stored."""
    key = idempotency_key(call.request)
    own = any(fact.key is not None for fact in facts)
    many = len(facts) > 1
    once, keyed = None, facts
    if key is not None and not own:
        once = EmitKey(key, beside=key if many else key_at(key, 0))
        keyed = [one._replace(key=key_at(key, at) if many else key) for at, one in enumerate(facts)]

    async def make(_request: Request) -> Response:
        emitted = await call.client.runtime.hop(Emitter(call.client.runtime).emit_all, keyed, once)
        return JsonResponse(answer([_shown(call, *both) for both in zip(facts, emitted, strict=True)]), 201)

    return await (answer_once(call, make) if own and key is not None else make(call.request))


def _shown(call: ApiCall, fact: Fact, event: Event) -> EventShown:
    """The event; a caller without `read` gets its own data back, even if another caller emitted it first."""
    shown = EventShown.of(event)
    if call.access.may(Scope.READ):
        return shown
    return msgspec.structs.replace(shown, data=fact.data, subject=fact.subject, cause=None)


def _fact(asked: EventBody | CloudEvent) -> Fact:
    if isinstance(asked, CloudEvent):
        return Fact(asked.type, asked.data, asked.subject, asked.source, asked.id, asked.time)
    return Fact(asked.type, asked.data, asked.subject, asked.source, asked.key)


@served(events.list_)
async def list_(call: ApiCall, query: EventsQuery) -> ListPage[EventShown]:
    client = call.client
    source = PageSource(
        lambda cursor, number: client.events.list(type=query.type, before=cursor, limit=number), by_id, EventShown.of
    )
    page = await client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)


@served(events.match)
async def match(call: ApiCall, query: MatchQuery) -> EventSubscribers:
    own = query.type in SYSTEM_TYPES if query.system is None else query.system
    tried = None if query.pattern is None else is_match(query.pattern, query.type, system=own)
    found = await call.client.events.amatch(query.type, system=own)
    return EventSubscribers(items=[*found], matches=tried)


@served(events.counts)
async def counts(call: ApiCall, query: CountsQuery) -> Items[EventCount]:
    return Items(items=[*await call.client.events.acounts(query.event)])


@served(events.get)
async def get(call: ApiCall, event_id: str) -> EventShown:
    return EventShown.of(await call.client.events.aget(event_id))


@served(events.matches)
async def matches(call: ApiCall, event_id: str, query: MatchesQuery) -> ListPage[Matched]:
    found = await call.client.events.amatches(event_id, after=query.after, limit=query.limit)
    return ListPage(items=[*found], next=found[-1].subscriber if len(found) == query.limit else None)
