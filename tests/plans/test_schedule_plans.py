"""Ten thousand schedules: each statement reads the rows it is about, and no table from end to end.

PostgreSQL is asked with EXPLAIN ANALYZE right after ANALYZE, with plans for these values and with generic ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.plans import Plan, explain
from tests.support.postgres import PostgresServer
from workbell.model.schedule import Schedule
from workbell.stores import rows
from workbell.stores.postgres.arrays import array_text
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.schedules.schedules import ADVANCE, _advance_values, _tick_values
from workbell.testing.contracts.core.scheduling import begin, fire, run_of, schedule
from workbell.testing.contracts.making import START, after

MANY = 100_000 if os.environ.get("WORKBELL_SOAK") else 10_000
BATCH = 500
SCHEDULES = """
    INSERT INTO workbell_schedules (id, tenant, name, job, kind, expression, timezone, source, created_at, updated_at,
        look_at, last_scheduled_at)
    SELECT gen_random_uuid(), 't' || n %% 10, 's' || n, 'work', 'cron', '* * * * *', 'UTC', 'code:app', %(now)s,
        %(now)s, %(now)s::timestamptz + n * interval '1 s', %(now)s FROM generate_series(1, %(count)s) n
"""
RUNS = """
    INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, schedule)
    SELECT gen_random_uuid(), %(lane)s, 'queued', 0, %(now)s, %(now)s, %(now)s, id FROM workbell_schedules
"""
TICKS = """
    INSERT INTO workbell_ticks (schedule, due, outcome, created_at)
    SELECT id, %(now)s::timestamptz + n * interval '1 min', 'skipped', %(now)s::timestamptz + n * interval '1 min'
    FROM workbell_schedules, generate_series(1, 3) n
"""
REPORTS = """
    INSERT INTO workbell_reports (schedule, last_run_status, last_run_ended_at)
    SELECT id, 'success', %(now)s FROM workbell_schedules
"""
NAMES = [f"s{number}" for number in range(10, 1010, 100)]
# The index that must serve each statement.
WANTED = {
    "due_schedules": "workbell_schedules_look",
    "due_schedules_beside": "workbell_schedules_look",
    "next_check": "workbell_schedules_look",
    "next_check_after": "workbell_schedules_look",
    "find_schedules": "workbell_schedules_tenant_name_key",
    "list_schedules": "workbell_schedules_tenant_name_key",
    "list_schedules_of": "workbell_schedules",
    "add_schedule": "",
    "define_schedule": "workbell_schedules_pkey",
    "advance": "workbell_runs_schedule",
    "add_advanced_runs": "workbell_schedules_pkey",
    "add_advanced_ticks": "workbell_schedules_pkey",
    "schedule_versions": "workbell_schedules_pkey",
    "locked_runs": "workbell_runs_pkey",
    "overlaps_of": "workbell_runs_schedule",
    "ticks": "workbell_ticks_pkey",
    "delete_ticks": "workbell_ticks_created",
    "report": "",
}


@pytest.fixture
def filled(postgres_server: PostgresServer) -> Iterator[tuple[PostgresStore, list[Schedule]]]:
    url = postgres_server.create_database("workbell_template")
    store = PostgresStore(url)
    known = begin(store, *[schedule(f"own{number}", look_at=after(-9)) for number in range(BATCH)])
    first = run_of(known[0])
    store.runs.add([first])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SCHEDULES, {"now": START, "count": MANY})
        for text in (RUNS, TICKS, REPORTS):
            connection.execute(text, {"now": START, "lane": first.run.lane.id})
        connection.execute("VACUUM ANALYZE")
    yield store, known
    store.close()
    postgres_server.drop_database(url)


def values_of(name: str, known: list[Schedule]) -> dict[str, Any]:
    one = known[0]
    match name:
        case "due_schedules":
            return {"now": after(-1), "limit": 500}
        case "due_schedules_beside":
            passed = arrays(["id", "version"], [[each.id, each.version] for each in known[:100]])
            return {"now": after(-1), "limit": 500} | passed
        case "next_check_after":
            return {"after": after(-1)}
        case "find_schedules":
            return {"tenant": "t0", "names": NAMES}
        case "list_schedules" | "list_schedules_of":
            return {"tenant": "t3", "after": "s5", "limit": 100, "source": "code:app"}
        case "add_schedule" | "define_schedule":
            new = schedule("fresh") if name == "add_schedule" else one
            values = rows.schedule_values(new)
            return {field: values[field] for field in rows.SCHEDULE} | {"expected": one.version}
        case "advance":
            return advance(known, only_idle=True)
        case "add_advanced_runs":
            return arrays(rows.NEW, [list(rows.new_values(run_of(each))) for each in known])
        case "add_advanced_ticks":
            ticks = [tick for each in known for tick in fire(each, 60).ticks]
            return arrays(rows.TICK, [_tick_values(tick) for tick in ticks])
        case "schedule_versions":
            return {"ids": [each.id for each in known]}
        case "locked_runs":
            return {"ids": [each.id for each in known]}
        case "overlaps_of":
            return {"id": one.id, "limit": 501}
        case "ticks":
            return {"id": one.id, "before": after(9999), "limit": 100}
        case "delete_ticks":
            return {"before": after(-1), "limit": 1000}
        case "report":
            fields = ["schedule", "last_run_status", "last_run_ended_at", "failed_runs"]
            return arrays(fields, [[each.id, "failed", after(9), 1] for each in known[:20]])
        case _:
            return {}


def advance(known: list[Schedule], *, only_idle: bool) -> dict[str, Any]:
    return arrays(ADVANCE, [_advance_values(fire(each, 60, only_idle=only_idle)) for each in known])


def arrays(names: list[str], records: list[list[Any]]) -> dict[str, str]:
    return dict(zip(names, map(array_text, zip(*records, strict=True)), strict=True))


def test_each_statement_goes_by_its_index(filled: tuple[PostgresStore, list[Schedule]]) -> None:
    """One test, because the rows are built once."""
    store, known = filled
    faults: dict[tuple[str, bool], Any] = {}
    plans: dict[tuple[str, bool], Plan] = {}
    for name, index in WANTED.items():
        for generic in (False, True):
            plan = explain(store.calls.conninfo, name, values_of(name, known), generic=generic)
            plans[name, generic] = plan
            if plan.read_in_full or not any(used.startswith(index) for used in plan.indexes or {""}):
                faults[name, generic] = (plan.read_in_full, plan.indexes, plan.text)
    assert faults == {}
    one_schedule_reads_its_own_rows(plans)
    assert {plan.rows for (name, _), plan in plans.items() if name == "advance"} == {0}, "they all have live runs"
    assert plans["due_schedules", False].rows == BATCH
    for generic in (False, True):
        free = advance(known, only_idle=False)
        plan = explain(store.calls.conninfo, "advance", free, generic=generic)
        assert (plan.rows, plan.read_in_full) == (BATCH, set()), plan.text


def one_schedule_reads_its_own_rows(plans: dict[tuple[str, bool], Plan]) -> None:
    """Putting one beside ten thousand touches a few pages: the way down the indexes, and the row."""
    for (name, _), plan in plans.items():
        if name in ("add_schedule", "define_schedule", "overlaps_of", "ticks", "next_check"):
            assert plan.pages < 60, (name, plan.pages, plan.text)
        if name == "find_schedules":
            assert plan.pages < 20 * len(NAMES), plan.text
