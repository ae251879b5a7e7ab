"""Handlers of schedules: create, show, change, pause, preview, and the outcomes of their ticks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_name, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.parsing import check_read_only
from workbell.http.policies.etags import answer_with, check_match, etag_of
from workbell.model.job import API_SOURCE
from workbell.model.schedule import Schedule, Tick
from workbell.model.upcoming_ticks import TriedTiming, UpcomingTicks
from workbell.scheduling.schedules import Declaration
from workbell.scheduling.words import in_words
from workbell.wire import schedules
from workbell.wire.operation import ListPage
from workbell.wire.runs import RunShown
from workbell.wire.schedules import (
    CronAsked,
    PreviewQuery,
    ScheduleBody,
    ScheduleShown,
    SchedulesQuery,
    ScheduleUpdateBody,
    TicksQuery,
)

served = Served()

# What somebody can change; all else changes by itself.
DEFINITION = "name job kind expression timezone options enabled paused".split()


def etag(schedule: Schedule | None) -> str | None:
    return None if schedule is None else etag_of([getattr(schedule, name) for name in DEFINITION])


def shown(schedule: Schedule) -> ScheduleShown:
    return ScheduleShown.of(schedule, in_words(schedule))


def _with_etag(call: ApiCall, schedule: Schedule) -> Response:
    return answer_with(call.request, shown(schedule), etag(schedule) or "")


@served(schedules.list_)
async def list_(call: ApiCall, query: SchedulesQuery) -> ListPage[ScheduleShown]:
    client = call.client
    source = PageSource(lambda cursor, number: client.schedules.list(after=cursor or "", limit=number), by_name, shown)
    page = await client.runtime.hop(read_page, source, query.after, query.limit)
    return page.answer(by_name)


@served(schedules.get)
async def get(call: ApiCall, name: str) -> Response:
    return _with_etag(call, await call.client.schedules.aget(name))


@served(schedules.put)
async def put(call: ApiCall, name: str, body: ScheduleBody) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_put, call, name, body))


def _put(call: ApiCall, name: str, body: ScheduleBody) -> Schedule:
    settings: Any = {word: value for word, value in call.owned(body).options().items() if value is not None}
    declaration = Declaration(name, body.job, settings)

    def accept(old: Schedule | None) -> None:
        check_match(call.request, etag(old))
        check_read_only(
            call.read_only,
            id=None if old is None else old.id,
            name=name if old is None else old.name,
            tenant=call.client.tenant,
            source=API_SOURCE,
            paused=old is not None and old.paused,
        )

    return call.client.schedules.put_all(
        [declaration], source=API_SOURCE, accept=accept, created_by=str(call.access.who)
    )[0]


@served(schedules.change)
async def change(call: ApiCall, name: str, body: ScheduleUpdateBody) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_change, call, name, body))


def _change(call: ApiCall, name: str, body: ScheduleUpdateBody) -> Schedule:
    job = None if body.job is UNSET else body.job
    changes: Any = body.options()

    def accept(old: Schedule) -> None:
        check_match(call.request, etag(old))
        check_read_only(
            call.read_only, id=old.id, name=old.name, tenant=old.tenant, source=old.source, paused=old.paused
        )

    return call.client.schedules.update_if(name, job, changes, accept)


@served(schedules.delete)
async def delete(call: ApiCall, name: str) -> None:
    delete_if = call.client.schedules.delete_if
    await call.client.runtime.hop(delete_if, name, lambda known: check_match(call.request, etag(known)))


@served(schedules.pause)
async def pause(call: ApiCall, name: str) -> ScheduleShown:
    return shown(await call.client.schedules.apause(name))


@served(schedules.resume)
async def resume(call: ApiCall, name: str) -> ScheduleShown:
    return shown(await call.client.schedules.aresume(name))


@served(schedules.run)
async def run(call: ApiCall, name: str) -> RunShown:
    return RunShown.of(await call.client.schedules.arun(name))


@served(schedules.preview)
async def preview(call: ApiCall, name: str, query: PreviewQuery) -> UpcomingTicks:
    return await call.client.schedules.apreview_local(name, query.n, after=query.after)


@served(schedules.ticks)
async def ticks(call: ApiCall, name: str, query: TicksQuery) -> ListPage[Tick]:
    client = call.client
    source = PageSource(
        lambda cursor, number: client.schedules.ticks(name, before=cursor, limit=number), _due, largest=WITH_TEXT
    )
    page = await client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(lambda tick: _due(tick).astimezone(UTC).isoformat())


def _due(tick: Tick) -> datetime:
    return tick.due


@served(schedules.try_cron)
async def try_cron(call: ApiCall, body: CronAsked) -> TriedTiming:
    return await call.client.schedules.atry_out(**msgspec.structs.asdict(body))
