"""Searching and counting: what one look costs does not grow with history. No table is read through, none is sorted.

The statements are those that the store really makes; each is explained as it goes by.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.postgres import PostgresServer
from workbell.model.ids import first_id_at
from workbell.model.payload_fields import Field
from workbell.model.run import Lane, Status
from workbell.stores.port import Filter
from workbell.stores.postgres.store import PostgresSession, PostgresStore
from workbell.stores.sqlite.store import SqliteSession, SqliteStore
from workbell.testing.contracts.making import START, after, request

MANY = 200_000 if os.environ.get("WORKBELL_SOAK") else 20_000
SCAN = MANY // 20
FIELDS = [Field("customer.id", 42)]
# What is asked for, and the index of history that must lead to it; none: that of ids.
WANTED = {
    "all": (Filter("t0"), ""),
    "fields": (Filter("t0", fields=FIELDS), ""),
    "fields of a job": (Filter("t0", job="j0", fields=FIELDS), ""),
    "fields of a small job": (Filter("t0", job="small", fields=FIELDS), "workbell_history_lane"),
    "failed": (Filter("t0", [Status.FAILED]), "workbell_history_failed"),
    "fields of failed ones": (Filter("t0", [Status.FAILED], fields=FIELDS), "workbell_history_failed"),
    "rare status": (Filter("t0", [Status.CANCELED]), ""),
    "user": (Filter("t0", user_id=5), ""),
    "time": (Filter("t0", since=after(9), until=after(60), fields=FIELDS), ""),
    "tag": (Filter("t0", tag="t", fields=FIELDS), "workbell_history_tag"),
}
LANES = [Lane("t0", "default", "j0"), Lane("t0", "default", "j1"), Lane("t1", "default", "j0")]
SMALL = Lane("t0", "default", "small")
HISTORY = """
    INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures,
        losses, crashes, token, input, user_id, tag, finished_at, remove_at)
    SELECT (lpad(to_hex(%(start)s + n * 10), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid,
        CASE WHEN n %% 1000 = 7 THEN %(small)s ELSE (%(lanes)s::bigint[])[1 + n %% 3] END,
        CASE WHEN n %% 100 = 1 THEN 'failed' WHEN n %% 1000 = 2 THEN 'canceled' ELSE 'succeeded' END, 0, %(now)s,
        %(now)s, %(now)s, 1, 0, 0, 0, 1, '{"customer":{"id":' || n %% 5000 || '}}', n %% 1000,
        CASE WHEN n %% 500 = 3 THEN 't' END, %(now)s, %(now)s FROM generate_series(1, %(count)s) n
"""


@pytest.fixture
def filled(postgres_server: PostgresServer) -> Iterator[PostgresStore]:
    url = postgres_server.create_database("workbell_template")
    store = PostgresStore(url)
    store.add([request(lane.job, tenant=lane.tenant) for lane in (*LANES, SMALL)])
    start = int(first_id_at(START).replace("-", "")[:12], 16)
    values = {"start": start, "now": START, "count": MANY, "lanes": [lane.id for lane in LANES], "small": SMALL.id}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(HISTORY, values)
        connection.execute("VACUUM ANALYZE")
    yield store
    store.close()
    postgres_server.drop_database(url)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def test_postgres_goes_by_indexes(filled: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, because the rows are built once."""
    real, told = PostgresSession._fetch, []

    def watched(self: PostgresSession, text: str, values: dict[str, Any]) -> Any:
        if "FROM workbell_history" in text and "%(ids)s" not in text:
            (row,) = real(self, f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", values)
            told.append((text, list(nodes(row[0][0]["Plan"]))))
        return real(self, text, values)

    monkeypatch.setattr(PostgresSession, "_fetch", watched)
    for name, (wanted, index) in WANTED.items():
        told.clear()
        filled.search_runs(wanted, scan=SCAN)
        filled.count_runs(wanted, most=SCAN, scan=SCAN)
        assert len(told) >= 2, name
        for text, steps in told:
            shown = f"{name}: {text}\n{json.dumps(steps, indent=1)}"
            assert "Seq Scan" not in {step["Node Type"] for step in steps}, shown
            used = {step["Index Name"] for step in steps if "Index Name" in step}
            assert any(each.startswith(index or "workbell_history") for each in used), shown
            for step in steps:
                assert step["Actual Rows"] * step["Actual Loops"] <= 2 * SCAN + 101, shown
                if step["Node Type"] == "Sort":
                    assert step["Plans"][0]["Actual Rows"] <= SCAN, shown


def test_sqlite_goes_by_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(tmp_path / "workbell.db")
    store.check()
    store.add([request(lane.job, tenant=lane.tenant) for lane in (*LANES, SMALL)])
    real, told = SqliteSession.text_rows, []

    def watched(self: SqliteSession, sql: str, values: dict[str, Any]) -> Any:
        if "workbell_history" in sql:
            # As if there were more than may be looked at.
            bounded = {"end": first_id_at(START)} if "OFFSET" in sql else {}
            steps = [row[3] for row in real(self, f"EXPLAIN QUERY PLAN {sql}", values)]
            told.append((sql, steps))
            return [[bounded["end"]]] if bounded else real(self, sql, values)
        return real(self, sql, values)

    monkeypatch.setattr(SqliteSession, "text_rows", watched)
    for name, (wanted, index) in WANTED.items():
        told.clear()
        store.list_runs(wanted)
        store.search_runs(wanted, scan=SCAN)
        store.count_runs(wanted, most=SCAN, scan=SCAN)
        assert len(told) >= 2, name
        for sql, steps in told:
            assert any("USING" in step and f"INDEX {index}" in step for step in steps), (name, sql, steps)
            assert not any(step.startswith("SCAN r") and "USING" not in step for step in steps), (name, sql, steps)
    store.close()
