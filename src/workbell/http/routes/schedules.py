"""Routes of schedules: create, show, change, pause, preview, and the outcomes of their ticks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.client.local import LocalClient
from workbell.http.answers import JsonResponse, nothing
from workbell.http.bounded_pages import WITH_TEXT, PageSource, by_name, read_page
from workbell.http.call import ApiCall, call_of
from workbell.http.etags import IF_MATCH, NOT_MODIFIED, answer_with, check_match, etag_of
from workbell.http.routing import Routes
from workbell.http.schedule_list import shown
from workbell.http.schemas.base import Limit, ListPage, When
from workbell.http.schemas.runs import RetryBody, RunShown
from workbell.http.schemas.schedules import (
    CronAsked,
    CronShown,
    RetryPolicy,
    ScheduleBody,
    ScheduleShown,
    ScheduleTerms,
    ScheduleUpdateBody,
    TickShown,
    UpcomingTicks,
)
from workbell.model.access import Scope
from workbell.model.retry import Retry
from workbell.model.schedule import Schedule, Tick
from workbell.scheduling.clock_notes import clock_notes
from workbell.scheduling.declare import try_out
from workbell.scheduling.request import enqueue_options
from workbell.scheduling.rule import ScheduleRule, first_runs, rule_of
from workbell.scheduling.schedules import Declaration
from workbell.scheduling.words import rule_in_words

routes = Routes("schedules")

LONG_ENOUGH = 0.1  # seconds of the CPU to search for ticks; those found by then are shown

# What somebody can change; all else changes by itself.
DEFINITION = "name job kind expression timezone options enabled paused".split()


def etag(schedule: Schedule | None) -> str | None:
    return None if schedule is None else etag_of([getattr(schedule, name) for name in DEFINITION])


@routes.add("GET", "/schedules", needs=Scope.READ, answers=ListPage[ScheduleShown])
async def list(  # noqa: A001
    request: Request, after: Annotated[str, Query(max_length=200)] = "", limit: Limit = 100
) -> Response:
    """List the schedules by name; `after` is the cursor."""
    client = call_of(request).client
    source = PageSource(lambda cursor, number: client.schedules.list(after=cursor or "", limit=number), by_name, shown)
    page = await client.runtime.hop(read_page, source, after, limit)
    return JsonResponse(page.answer(by_name))


@routes.add("GET", "/schedules/{name}", needs=Scope.READ, answers=ScheduleShown, more=NOT_MODIFIED)
async def get(request: Request, name: str) -> Response:
    """Show a schedule."""
    found = await call_of(request).client.schedules.aget(name)
    return answer_with(request, shown(found), etag(found) or "")


@routes.add("PUT", "/schedules/{name}", needs=Scope.OPERATE, answers=ScheduleShown, parameters=[IF_MATCH])
async def put(request: Request, name: str, asked: ScheduleBody) -> Response:
    """Make or change a schedule: put again with the same settings, nothing changes.

    With `If-Match` only if it is still as it was read; with `If-None-Match: *` only if there is none.
    """
    call = call_of(request)
    found = await call.client.runtime.hop(_put, call, name, asked)
    return answer_with(request, shown(found), etag(found) or "")


def _put(call: ApiCall, name: str, asked: ScheduleBody) -> Schedule:
    settings: Any = {word: value for word, value in _given(asked).items() if value is not None}
    declaration = Declaration(name, asked.job, settings)
    accept = lambda old: check_match(call.request, etag(old))  # noqa: E731
    return call.client.schedules.put_all([declaration], source="api", accept=accept, created_by=str(call.access.who))[0]


@routes.add("PATCH", "/schedules/{name}", needs=Scope.OPERATE, answers=ScheduleShown, parameters=[IF_MATCH])
async def change(request: Request, name: str, asked: ScheduleUpdateBody) -> Response:
    """Change what is named, and leave the rest; null takes a setting back to its default.

    With `If-Match` only if it is still as it was read. One that code or a job file declares is changed there.
    """
    call = call_of(request)
    found = await call.client.runtime.hop(_change, call, name, asked)
    return answer_with(request, shown(found), etag(found) or "")


def _change(call: ApiCall, name: str, asked: ScheduleUpdateBody) -> Schedule:
    job = asked.job if "job" in asked.model_fields_set else None
    changes: Any = _given(asked)
    return call.client.schedules.update_if(name, job, changes, lambda old: check_match(call.request, etag(old)))


def _given(asked: ScheduleTerms) -> dict[str, Any]:
    """Options of `bell.schedules` from a request body, besides the job."""
    given = {word: getattr(asked, word) for word in asked.model_fields_set if word != "job"}
    retry = given.get("retry")
    if isinstance(retry, RetryBody):
        given["retry"] = Retry(**retry.model_dump())
    elif isinstance(retry, RetryPolicy):
        given["retry"] = retry.model_dump()
    return given


@routes.add("DELETE", "/schedules/{name}", needs=Scope.OPERATE, status=204, parameters=[IF_MATCH])
async def delete(request: Request, name: str) -> Response:
    """Remove a schedule; its runs stay."""
    client = call_of(request).client
    await client.runtime.hop(client.schedules.delete_if, name, lambda known: check_match(request, etag(known)))
    return nothing()


@routes.add("POST", "/schedules/{name}/pause", needs=Scope.OPERATE, answers=ScheduleShown)
async def pause(request: Request, name: str) -> Response:
    """Pause a schedule: no tick makes a run until it is resumed."""
    return JsonResponse(shown(await call_of(request).client.schedules.apause(name)))


@routes.add("POST", "/schedules/{name}/resume", needs=Scope.OPERATE, answers=ScheduleShown)
async def resume(request: Request, name: str) -> Response:
    """Go on from the next tick."""
    return JsonResponse(shown(await call_of(request).client.schedules.aresume(name)))


@routes.add("POST", "/schedules/{name}/run", needs=Scope.OPERATE, answers=RunShown, status=201, creates=True)
async def run(request: Request, name: str) -> Response:
    """Run its job now, with its payload and settings; its ticks go on as before."""
    call = call_of(request)
    schedule = await call.client.schedules.aget(name)
    return JsonResponse(
        (await call.client.aenqueue(schedule.job, schedule.payload, **enqueue_options(schedule))).as_dict(), 201
    )


@routes.add("GET", "/schedules/{name}/preview", needs=Scope.READ, answers=UpcomingTicks)
async def preview(
    request: Request,
    name: str,
    n: Annotated[int, Query(ge=1, le=1000)] = 5,
    after: Annotated[When | None, Query()] = None,
) -> Response:
    """Say when the next runs will be due: `n` of them, or fewer where the search for rare ones takes long."""
    client = call_of(request).client
    return JsonResponse(await client.runtime.hop(_preview, client, name, n, after))


def _preview(client: LocalClient, name: str, n: int, after: datetime | None) -> dict[str, Any]:
    schedule = client.schedules.get(name)
    found = client.schedules.preview_within(name, n, after, LONG_ENOUGH)
    since = client.store.clock.now() if after is None else after
    return _upcoming(rule_of(schedule), found, schedule.timezone, since)


def _upcoming(rule: ScheduleRule, times: Sequence[datetime], zone: str, since: datetime) -> dict[str, Any]:
    here = ZoneInfo(zone)
    local = [time.astimezone(here).isoformat() for time in times]
    return {"timezone": zone, "items": times, "local": local, "notes": clock_notes(rule, times, zone, since)}


@routes.add("GET", "/schedules/{name}/ticks", needs=Scope.READ, answers=ListPage[TickShown])
async def ticks(
    request: Request, name: str, before: Annotated[When | None, Query()] = None, limit: Limit = 100
) -> Response:
    """List the outcomes of a schedule's ticks, newest first; `before` is the cursor."""
    client = call_of(request).client
    source = PageSource(
        lambda cursor, number: client.schedules.ticks(name, before=cursor, limit=number), _due, largest=WITH_TEXT
    )
    page = await client.runtime.hop(read_page, source, before, limit)
    return JsonResponse(page.answer(lambda tick: _due(tick).astimezone(UTC).isoformat()))


def _due(tick: Tick) -> datetime:
    return tick.due


@routes.add("POST", "/cron/preview", needs=Scope.READ, answers=CronShown)
async def try_cron(request: Request, asked: CronAsked) -> Response:
    """Try a timing before it is saved: in words, and when its next runs would be due, without any jitter."""
    client = call_of(request).client
    return JsonResponse(await client.runtime.hop(_try, asked, client.store.clock.now()))


def _try(asked: CronAsked, now: datetime) -> dict[str, Any]:
    words = asked.model_fields_set - {"timezone", "n"}
    settings: Any = {word: value for word in words if (value := getattr(asked, word)) is not None}
    rule = try_out(settings, asked.timezone, now)
    found = first_runs(rule, now, asked.n, LONG_ENOUGH)
    return _upcoming(rule, found, asked.timezone, now) | {"in_words": rule_in_words(rule)}
