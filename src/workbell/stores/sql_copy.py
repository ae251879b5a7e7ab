"""Copying a whole store: everything out in pages, and a page of another store in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from workbell.model.clock import EPOCH
from workbell.model.run import Lane
from workbell.stores import event_rows, rows
from workbell.stores.database import Row, Statement, read_rows
from workbell.stores.events import events
from workbell.stores.runs import lanes
from workbell.stores.schedules import schedules
from workbell.stores.store_page import StorePage

if TYPE_CHECKING:
    from workbell.stores.sql_store import SqlStore

T = TypeVar("T")

PAGE = 1000


def export(store: SqlStore) -> Iterator[StorePage]:
    """Everything a store holds, a page at a time; runs before what belongs to them."""
    zero = "00000000-0000-0000-0000-000000000000"
    after: Any = -1
    while lanes := _page(store, "export_lanes", lambda row: (row[0], Lane(*row[1:6])), after=after):
        yield StorePage(lanes=[lane for _, lane in lanes])
        after = lanes[-1][0]
    pauses = store.pauses.list()
    if pauses:
        yield StorePage(pauses=pauses)
    yield from (StorePage(jobs=page) for page in store.jobs.export())
    after = zero
    while schedules := _page(store, "export_schedules", rows.schedule_from, after=after):
        yield StorePage(schedules=schedules)
        after = schedules[-1].id
    last: tuple[Any, Any] = (zero, EPOCH)
    while ticks := _page(store, "export_ticks", rows.tick_from, after=last[0], after_due=last[1]):
        yield StorePage(ticks=ticks)
        last = (ticks[-1].schedule, ticks[-1].due)
    subscribers = store.subscribers
    triggers, endpoints = subscribers.list_triggers(), subscribers.list_endpoints()
    if triggers or endpoints:
        yield StorePage(triggers=triggers, endpoints=endpoints, health=subscribers.list_health())
    last = (zero, zero)
    while matches := _page(store, "export_matches", event_rows.match_from, after=last[0], after_subscriber=last[1]):
        yield StorePage(matches=matches)
        last = (matches[-1].event, matches[-1].subscriber)
    for name in ("export_runs", "export_history"):
        after = zero
        while runs := store.lanes.make_runs(read_rows(store.database, name, after=after, limit=PAGE)):
            yield StorePage(runs=runs)
            after = runs[-1].id
    # After the matches and the runs: an event that waits here has none of either there, and is fanned out once.
    after = zero
    while events := _page(store, "export_events", event_rows.event_from, after=after):
        yield StorePage(events=events)
        after = events[-1].id
    last = (zero, -1)
    while attempts := _page(store, "export_attempts", rows.attempt_from, after=last[0], after_number=last[1]):
        yield StorePage(attempts=attempts)
        last = (attempts[-1].run, attempts[-1].number)
    last = ("", "")
    while keys := _page(store, "export_keys", _key_from, after=last[0], after_key=last[1]):
        yield StorePage(keys=keys)
        last = keys[-1][:2]
    yield from _export_parts(store)


def _export_parts(store: SqlStore) -> Iterator[StorePage]:
    """Pages of the parts beside the runs; notifications before the marks of who has read them."""
    yield from (StorePage(logs=page) for page in store.logs.export())
    yield from (StorePage(tokens=page) for page in store.tokens.export())
    tenants, agents = store.tenants.list(), store.agents.list()
    if tenants or agents:
        yield StorePage(tenants=tenants, agents=agents)
    yield from (StorePage(audit=page) for page in store.audit.export())
    yield from (StorePage(notifications=page) for page in store.notifications.export())
    yield from (StorePage(reads=page) for page in store.notifications.export_reads())
    yield from (StorePage(tallies=page) for page in store.tallies.export())


def loading(store: SqlStore, batch: StorePage) -> list[Statement]:
    """The statements that take over a page of another store. What is there already stays."""
    return [
        *lanes.loading(batch.lanes, store.clock.now()),
        *schedules.loading(batch.schedules, batch.ticks),
        *_loading_runs(batch),
        *events.loading(batch.events, batch.matches),
        *_loading_parts(store, batch),
    ]


def _loading_parts(store: SqlStore, batch: StorePage) -> Iterator[Statement]:
    """Statements that load the parts beside the runs."""
    yield from store.jobs.loading(batch.jobs)
    yield from store.subscribers.loading(batch.triggers, batch.endpoints, batch.health)
    yield from store.pauses.loading(batch.pauses)
    yield from store.logs.loading(batch.logs)
    yield from store.tokens.loading(batch.tokens)
    yield from store.tenants.loading(batch.tenants)
    yield from store.agents.loading(batch.agents)
    if batch.audit:
        yield from store.audit.loading(batch.audit)
    if batch.notifications:
        yield from store.notifications.loading(batch.notifications)
    yield from store.notifications.loading_reads(batch.reads)
    if batch.tallies:
        yield from store.tallies.loading(batch.tallies)


def _page(store: SqlStore, name: str, make: Callable[[Row], T], **values: Any) -> list[T]:
    return [make(row) for row in read_rows(store.database, name, limit=PAGE, **values)]


def _loading_runs(batch: StorePage) -> Iterator[Statement]:
    """A run that has ended on either side stays ended."""
    for run in batch.runs:
        values = rows.run_values(run)
        if run.status.final:
            yield Statement("unload_run", {"id": run.id})
            yield Statement("load_finished", {name: values[name] for name in rows.HISTORY})
        else:
            yield Statement("load_run", {name: values[name] for name in rows.LIVE})
    for attempt in batch.attempts:
        yield Statement("load_attempt", rows.attempt_values(attempt))
    for tenant, key, run_id, until in batch.keys:
        yield Statement("load_key", {"tenant": tenant, "key": key, "run": run_id, "until": until})


def _key_from(row: Row) -> tuple[str, str, str, datetime | None]:
    return row[0], row[1], row[2], row[3]
