"""Searching and counting: what one look costs does not grow with history. No table is read through, none is sorted.

The statements are those that the store really makes; each is explained as it goes by. On PostgreSQL also before the
tables were analysed, when the planner has nothing to go by.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.support.postgres import PostgresServer
from workbell.model.ids import first_id_at
from workbell.model.input_fields import FieldFilter
from workbell.model.run import Lane, Status
from workbell.stores.database import Batch, Database, Row, Statement
from workbell.stores.port import Filter
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.reports import search, search_plans
from workbell.stores.reports.filters import SEARCH
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing.contracts.making import START, after, request

MANY = 200_000 if os.environ.get("WORKBELL_SOAK") else 20_000
SCAN = MANY // 20
WAITING, FIRST = MANY // 5, MANY // 50
FIELDS = [FieldFilter("customer.id", 42)]
IDS, LANE, FAILED, CANCELED, TAG, RETRY = "pkey", "lane", "failed", "canceled", "tag", "retry"
# What is asked for, and the index of history that must lead to it.
WANTED = {
    "all of a tenant": (Filter("t0"), LANE),
    "all of all": (Filter(None), IDS),
    "a job": (Filter("t0", job="j0"), LANE),
    "a job of which nothing is new": (Filter("t0", job="old"), LANE),
    "succeeded of that": (Filter("t0", [Status.SUCCEEDED], job="old"), LANE),
    "a page far behind": (Filter("t0", job="j0", before=first_id_at(after(99))), LANE),
    "fields": (Filter("t0", input=FIELDS), IDS),
    "fields of a job": (Filter("t0", job="j0", input=FIELDS), LANE),
    "fields of a small job": (Filter("t0", job="small", input=FIELDS), LANE),
    "failed": (Filter("t0", [Status.FAILED]), FAILED),
    "failed of a job": (Filter("t0", [Status.FAILED], job="j0"), FAILED),
    "fields of failed ones": (Filter("t0", [Status.FAILED], input=FIELDS), FAILED),
    "failed and not retried": (Filter("t0", [Status.FAILED], retried=False), FAILED),
    "failed of a job and not retried": (Filter("t0", [Status.FAILED], job="j0", retried=False), FAILED),
    "retries of a run": (Filter("t0", retry_of=first_id_at(after(9))), RETRY),
    "canceled": (Filter("t0", [Status.CANCELED]), CANCELED),
    "succeeded of a job": (Filter("t0", [Status.SUCCEEDED], job="j0"), LANE),
    "user": (Filter("t0", user_id=5), IDS),
    "time": (Filter("t0", since=after(9), until=after(60), input=FIELDS), IDS),
    "rare tag": (Filter("t0", tag="rare", input=FIELDS), TAG),
    "rare tag of a job": (Filter("t0", tag="rare", job="j0"), TAG),
    "common tag of a job": (Filter("t0", tag="common", job="j0"), LANE),
    "common tag of a small job": (Filter("t0", tag="common", job="small"), LANE),
}
LANES = [Lane("t0", "default", "j0"), Lane("t0", "default", "j1"), Lane("t1", "default", "j0")]
SMALL, OLD = Lane("t0", "default", "small"), Lane("t0", "default", "old")
# Both engines understand these, but for the numbers and how an id is spelled.
ROWS = """
    INSERT INTO {table} (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures,
        losses, crashes, token, input, user_id, tag{more})
    SELECT {id},
        CASE WHEN n % 1000 = 7 THEN :small WHEN n * 5 < :count THEN :old
            WHEN n % 3 = 0 THEN :lane0 WHEN n % 3 = 1 THEN :lane1 ELSE :lane2 END,
        {status}, 0, :now, :now, :now, 1, 0, 0, 0, 1, '{{"customer":{{"id":' || n % 5000 || '}}}}', n % 1000,
        CASE WHEN n % 500 = 3 THEN 'rare' WHEN n % 2 = 1 THEN 'common' END{ended} FROM {numbers}
"""
ENDED = "CASE WHEN n % 100 = 1 THEN 'failed' WHEN n % 1000 = 2 THEN 'canceled' ELSE 'succeeded' END"
WAITS = "CASE WHEN n % 10 = 1 THEN 'scheduled' ELSE 'queued' END"


def fill(execute: Callable[[str, dict[str, Any]], object], spelled_id: str, numbers: str, now: Any) -> None:
    start = int(first_id_at(START).replace("-", "")[:12], 16)
    values = {"start": start, "now": now, "small": SMALL.id, "old": OLD.id}
    values |= {f"lane{place}": lane.id for place, lane in enumerate(LANES)}
    for table, status, more, ended, count in (
        ("workbell_history", ENDED, ", finished_at, remove_at", ", :now, :now", MANY),
        ("workbell_runs", WAITS, "", "", WAITING),
    ):
        places = {"table": table, "id": spelled_id, "status": status, "more": more, "ended": ended, "numbers": numbers}
        execute(ROWS.format(**places), values | {"count": count, "start": start + (table == "workbell_runs")})


class Seen(NamedTuple):
    """A statement of a store, and what the database made of it."""

    text: str
    steps: Any


def explain_searches(
    database: Database, monkeypatch: pytest.MonkeyPatch, explain: str, read_plan: Callable[[list[Row]], Any]
) -> list[Seen]:
    """The list into which each search of runs goes, explained in its own batch: after what stands before it there."""
    seen: list[Seen] = []

    def watched(real: Callable[[Batch], list[list[Row]]]) -> Callable[[Batch], list[list[Row]]]:
        def send(batch: Batch) -> list[list[Row]]:
            *ahead, asked = batch
            text = asked.text or ""
            if "FROM workbell_history" not in text and "FROM workbell_runs" not in text:
                return real(batch)
            *told, plan, found = real([*ahead, Statement(SEARCH, asked.values, text=f"{explain} {text}"), asked])
            seen.append(Seen(text, read_plan(plan)))
            return [*told, found]

        return send

    for verb in ("read", "write"):
        monkeypatch.setattr(database, verb, watched(getattr(database, verb)))
    return seen


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


@pytest.fixture
def filled(postgres_server: PostgresServer) -> Iterator[PostgresStore]:
    url = postgres_server.create_database("workbell_template")
    store = PostgresStore(url)
    store.runs.add([request(lane.job, tenant=lane.tenant) for lane in (*LANES, SMALL, OLD)])
    spelled = "(lpad(to_hex(:start + n * 10), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid"
    with psycopg.connect(url, autocommit=True) as connection:
        for table in ("workbell_history", "workbell_runs"):  # lest it be analysed meanwhile
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")

        def execute(text: str, values: dict[str, Any]) -> None:
            connection.execute(re.sub(r"(?<!:):(\w+)", r"%(\1)s", text.replace("%", "%%")), values)

        fill(execute, spelled, "generate_series(1, :count) n", START)
    yield store
    store.close()
    postgres_server.drop_database(url)


def test_postgres_goes_by_indexes(filled: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, because the rows are built once."""
    told = explain_searches(
        filled.database,
        monkeypatch,
        "EXPLAIN (ANALYZE, FORMAT JSON)",
        lambda rows: list(nodes(rows[0][0][0]["Plan"])),
    )
    monkeypatch.setattr(search_plans, "FIRST", FIRST)
    check_postgres(filled, told, "not analysed")
    with psycopg.connect(filled.calls.conninfo, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    check_postgres(filled, told, "analysed")


def check_what_waits(store: PostgresStore | SqliteStore) -> None:
    """The newest have none of a small job but the one that was made last: then all are looked at."""
    wanted = Filter("t0", [Status.QUEUED], job="small")
    expected = 1 + WAITING // 1000
    assert len(store.runs.list(wanted)) == len(store.reports.search(wanted).runs) == expected
    assert len(store.runs.list(wanted._replace(limit=1))) == 1


def check_postgres(store: PostgresStore, told: list[Seen], when: str) -> None:
    check_what_waits(store)
    for name, (wanted, index) in WANTED.items():
        told.clear()
        store.reports.search(wanted, scan=SCAN)
        store.reports.count(wanted, most=SCAN, scan=SCAN)
        history = [seen for seen in told if "workbell_history" in seen.text]
        assert len(history) >= 2, name
        for text, steps in history:
            shown = f"{name}, {when}: {text}\n{json.dumps(steps, indent=1)}"
            assert "Seq Scan" not in {step["Node Type"] for step in steps}, shown
            for step in steps:
                each = step["Actual Rows"] + step.get("Rows Removed by Filter", 0)
                assert each * step["Actual Loops"] <= 2 * SCAN + 101, shown
            if "OFFSET" not in text:  # those only ask how far back an index reaches
                used = {step["Index Name"] for step in steps if step.get("Relation Name") == "workbell_history"}
                counts_all = "count(*)" in text and not wanted.tenant  # any index will do
                assert counts_all or f"workbell_history_{index}" in used, shown
        for text, steps in (seen for seen in told if "workbell_runs" in seen.text and f"LIMIT {FIRST}" in seen.text):
            looked_at = [step for step in steps if step["Node Type"] == "Subquery Scan"]
            assert all(step["Actual Rows"] + step.get("Rows Removed by Filter", 0) <= FIRST for step in looked_at), text


@pytest.fixture
def filled_file(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "workbell.db")
    store.check()
    store.runs.add([request(lane.job, tenant=lane.tenant) for lane in (*LANES, SMALL, OLD)])
    millis = "printf('%012x', :start + n * 10)"
    spelled = f"substr({millis}, 1, 8) || '-' || substr({millis}, 9) || printf('-7000-8000-%012x', n)"
    numbers = "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < :count) SELECT n FROM s)"
    with store.file.reader() as connection:
        fill(connection.execute, spelled, numbers, int(START.timestamp() * 1_000_000))
    yield store
    store.close()


def test_sqlite_goes_by_indexes(filled_file: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled_file
    told = explain_searches(store.database, monkeypatch, "EXPLAIN QUERY PLAN", lambda rows: [row[3] for row in rows])
    monkeypatch.setattr(search_plans, "FIRST", FIRST)
    monkeypatch.setattr(search, "SCAN", SCAN // 2)
    check_what_waits(store)
    for name, (wanted, index) in WANTED.items():
        told.clear()
        if not wanted.input and wanted.retried is None:
            store.runs.list(wanted)
        store.reports.search(wanted, scan=SCAN)
        store.reports.count(wanted, most=SCAN, scan=SCAN)
        history = [seen for seen in told if "workbell_history" in seen.text]
        assert len(history) >= 2, name
        spelled = "sqlite_autoindex_workbell_history_1" if index == IDS else f"workbell_history_{index}"
        for sql, steps in history:
            through = sum(step.startswith("SCAN r") and "USING" not in step for step in steps)
            assert through == ("MATERIALIZED" in sql), (name, sql, steps)  # what was found is, and no table
            if "OFFSET" not in sql:
                counts_all = "count(*)" in sql and not wanted.tenant  # any index will do
                assert counts_all or any(f"INDEX {spelled}" in step for step in steps), (name, sql, steps)
            # Only what a few lanes left is ever sorted, or the newest of each lane.
            if "USE TEMP B-TREE FOR ORDER BY" in steps and "OFFSET" not in sql:
                assert "MATERIALIZED" in sql or "json_each" in sql, (name, sql, steps)
