"""Handlers of schedules: create, show, change, pause, preview, and the outcomes of their ticks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_name, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.versions import Precondition, Versioned, etag_of
from workbell.model.job import API_SOURCE
from workbell.model.schedule import Schedule, Tick
from workbell.model.upcoming_ticks import TriedTiming, UpcomingTicks
from workbell.scheduling.schedules import Declaration
from workbell.scheduling.words import schedule_in_words
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


def schedule_etag(schedule: Schedule) -> str:
    return etag_of([getattr(schedule, name) for name in DEFINITION])


def shown(schedule: Schedule) -> ScheduleShown:
    return ScheduleShown.of(schedule, schedule_in_words(schedule))


def _versioned(schedule: Schedule) -> Versioned[ScheduleShown]:
    return Versioned(shown(schedule), schedule_etag(schedule))


@served(schedules.list_)
async def list_(call: ApiCall, query: SchedulesQuery) -> ListPage[ScheduleShown]:
    client = call.client
    source = PageSource(lambda cursor, number: client.schedules.list(after=cursor or "", limit=number), by_name, shown)
    page = await client.runtime.hop(read_page, source, query.after, query.limit)
    return page.answer(by_name)


@served(schedules.get)
async def get(call: ApiCall, name: str) -> Versioned[ScheduleShown]:
    return _versioned(await call.client.schedules.aget(name))


@served(schedules.put)
async def put(call: ApiCall, name: str, body: ScheduleBody, condition: Precondition) -> Versioned[ScheduleShown]:
    return _versioned(await call.client.runtime.hop(_put, call, name, body, condition))


def _put(call: ApiCall, name: str, body: ScheduleBody, condition: Precondition) -> Schedule:
    settings: Any = {word: value for word, value in call.owned(body).options().items() if value is not None}
    declaration = Declaration(name, body.job, settings)

    def accept(old: Schedule | None) -> None:
        condition.check(
            None if old is None else schedule_etag(old),
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
async def change(
    call: ApiCall, name: str, body: ScheduleUpdateBody, condition: Precondition
) -> Versioned[ScheduleShown]:
    return _versioned(await call.client.runtime.hop(_change, call, name, body, condition))


def _change(call: ApiCall, name: str, body: ScheduleUpdateBody, condition: Precondition) -> Schedule:
    job = None if body.job is UNSET else body.job
    changes: Any = body.options()

    def accept(old: Schedule) -> None:
        condition.check(
            schedule_etag(old), id=old.id, name=old.name, tenant=old.tenant, source=old.source, paused=old.paused
        )

    return call.client.schedules.update_if(name, job, changes, accept)


@served(schedules.delete)
async def delete(call: ApiCall, name: str, condition: Precondition) -> None:
    delete_if = call.client.schedules.delete_if
    await call.client.runtime.hop(delete_if, name, lambda known: condition.check(schedule_etag(known)))


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
