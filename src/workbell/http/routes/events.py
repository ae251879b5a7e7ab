"""Routes of events: emit, list and show them, and test patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.client.local import LocalClient
from workbell.events.emitting import Emitter, Fact
from workbell.http.answers import JsonResponse
from workbell.http.bounded_pages import PageSource, by_id, read_page
from workbell.http.call import ApiCall, call_of
from workbell.http.idempotency import answer_once, key_at, key_of
from workbell.http.routing import IDEMPOTENCY_KEY, Routes
from workbell.http.schemas.base import Limit, ListPage
from workbell.http.schemas.events import (
    CloudEvent,
    EventBody,
    EventCounts,
    EventPage,
    EventShown,
    EventSubscribers,
    MatchedShown,
    NewEvents,
)
from workbell.model.access import Scope
from workbell.model.event import EmitKey, Event, MatchOutcome
from workbell.model.ids import is_id
from workbell.model.patterns import matches as is_match
from workbell.model.system_events import SYSTEM_TYPES

routes = Routes("events")

CLOUD_EVENTS = "application/cloudevents+json"
MOST_COUNTED = 100  # matches of an event; some have a hundred thousand


@routes.add(
    "POST",
    "/events",
    needs=Scope.ENQUEUE,
    answers=EventShown,
    status=201,
    body={"application/json": EventBody, CLOUD_EVENTS: CloudEvent},
    parameters=[IDEMPOTENCY_KEY],
)
async def emit(request: Request) -> Response:
    """Emit an event: every matching trigger starts a run, every matching endpoint is sent it.

    The `Idempotency-Key` becomes the event's key: emitted again, the first one is answered. If the event has
    a key of its own, the answer is remembered instead. A CloudEvent is taken as it is, with its `id` as the key.
    """
    call, body = call_of(request), await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == CLOUD_EVENTS:
        fact = _of_cloud_event(CloudEvent.model_validate_json(body))
    else:
        fact = _fact(EventBody.model_validate_json(body))
    return await _make(call, [fact], lambda shown: shown[0])


@routes.add(
    "POST",
    "/events/batch",
    needs=Scope.ENQUEUE,
    answers=EventPage,
    status=201,
    body=NewEvents,
    parameters=[IDEMPOTENCY_KEY],
)
async def emit_batch(request: Request) -> Response:
    """Emit up to 1,000 events in one transaction: all of them or none."""
    call = call_of(request)
    facts = [_fact(one) for one in NewEvents.model_validate_json(await request.body()).events]
    return await _make(call, facts, lambda shown: {"items": shown})


async def _make(call: ApiCall, facts: Sequence[Fact], answer: Callable[[Sequence[Any]], Any]) -> Response:
    """Emit events. The idempotency key is written with them; if they have keys of their own, the answer is stored."""
    key = key_of(call.request)
    own = any(fact.key is not None for fact in facts)
    many = len(facts) > 1
    once, keyed = None, facts
    if key is not None and not own:
        once = EmitKey(key, beside=key if many else key_at(key, 0))
        keyed = [one._replace(key=key_at(key, at) if many else key) for at, one in enumerate(facts)]

    async def make(_request: Request) -> Response:
        events = await call.client.runtime.hop(Emitter(call.client.runtime).emit_all, keyed, once)
        return JsonResponse(answer([_shown(call, *both) for both in zip(facts, events, strict=True)]), 201)

    return await (answer_once(call, make) if own and key is not None else make(call.request))


def _shown(call: ApiCall, fact: Fact, event: Event) -> dict[str, Any]:
    """The event; a caller without `read` gets its own data back, even if another caller emitted it first."""
    shown = event.as_dict()
    return shown if call.access.may(Scope.READ) else shown | {"data": fact.data, "subject": fact.subject, "cause": None}


def _fact(asked: EventBody) -> Fact:
    return Fact(asked.type, asked.data, asked.subject, asked.source, asked.key)


def _of_cloud_event(asked: CloudEvent) -> Fact:
    return Fact(asked.type, asked.data, asked.subject, asked.source, asked.id, asked.time)


@routes.add("GET", "/events", needs=Scope.READ, answers=ListPage[EventShown])
async def list(  # noqa: A001
    request: Request,
    wanted: Annotated[str | None, Query(alias="type", max_length=256, description="A type or a pattern.")] = None,
    before: Annotated[str | None, Query(description="The cursor: `next` of the page before.", max_length=100)] = None,
    limit: Limit = 100,
) -> Response:
    """List events, newest first; those of a pattern among the 10,000 before the cursor."""
    client = call_of(request).client
    source = PageSource(
        lambda cursor, number: client.events.list(type=wanted, before=cursor, limit=number), by_id, Event.as_dict
    )
    page = await client.runtime.hop(read_page, source, before, limit)
    return JsonResponse(page.answer(by_id))


@routes.add("GET", "/events/match", needs=Scope.READ, answers=EventSubscribers)
async def match(
    request: Request,
    wanted: Annotated[str, Query(alias="type", min_length=1, max_length=256, examples=["posts.created"])],
    system: Annotated[bool | None, Query(description="One of Workbell's own; left out, the type decides.")] = None,
    pattern: Annotated[str | None, Query(min_length=1, max_length=256, examples=["posts.*"])] = None,
) -> Response:
    """List the triggers and endpoints that match a type of event; nothing is emitted.

    A `pattern` is tried as well: `matches` says whether it matches the type.
    """
    own = wanted in SYSTEM_TYPES if system is None else system
    tried = None if pattern is None else is_match(pattern, wanted, system=own)
    found = await call_of(request).client.events.amatch(wanted, system=own)
    return JsonResponse({"items": [subscriber.as_dict() for subscriber in found], "matches": tried})


@routes.add("GET", "/events/counts", needs=Scope.READ, answers=EventCounts)
async def counts(
    request: Request,
    event: Annotated[Sequence[str], Query(min_length=1, max_length=100, description="Their ids.")],
) -> Response:
    """Say of many events how much each matched, and how much of that became a run; those not found are left out."""
    client = call_of(request).client
    return JsonResponse({"items": await client.runtime.hop(_counted, client, event)})


def _counted(client: LocalClient, wanted: Sequence[str]) -> Sequence[dict[str, Any]]:
    ids = [one for one in dict.fromkeys(wanted) if is_id(one)]
    known = client.store.events.find(ids)
    return [_count(client, known[one]) for one in ids if one in known and known[one].tenant == client.tenant]


def _count(client: LocalClient, event: Event) -> dict[str, Any]:
    fanned_out = event.fanned_out_at is not None
    found = client.store.events.matches(event.id, after=None, limit=MOST_COUNTED + 1) if fanned_out else []
    counted = found[:MOST_COUNTED]
    started = sum(match.outcome is MatchOutcome.STARTED for match in counted)
    shown = {"event": event.id, "type": event.type, "fanned_out": fanned_out, "count": len(counted)}
    return shown | {"started": started, "capped": len(found) > MOST_COUNTED}


@routes.add("GET", "/events/{event_id}", needs=Scope.READ, answers=EventShown)
async def get(request: Request, event_id: str) -> Response:
    """Show an event."""
    return JsonResponse((await call_of(request).client.events.aget(event_id)).as_dict())


@routes.add("GET", "/events/{event_id}/matches", needs=Scope.READ, answers=ListPage[MatchedShown])
async def matches(
    request: Request,
    event_id: str,
    after: Annotated[str | None, Query(description="The cursor: `next` of the page before.", max_length=100)] = None,
    limit: Limit = 100,
) -> Response:
    """List the matches of an event with their outcomes; none before it was fanned out."""
    found = await call_of(request).client.events.amatches(event_id, after=after, limit=limit)
    following = found[-1].subscriber if len(found) == limit else None
    return JsonResponse({"items": [one.as_dict() for one in found], "next": following})
