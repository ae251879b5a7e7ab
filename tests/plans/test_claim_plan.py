"""Claims never wade through what is finished or waits: the pages they touch, and the plans behind that.

PostgreSQL is asked with EXPLAIN ANALYZE on real statements and many rows; no time is measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest

from tests.support.plans import explain
from tests.support.postgres import PostgresServer
from workbell.model import state
from workbell.model.clock import EPOCH
from workbell.model.run import Lane, Run
from workbell.model.state import FINISHED
from workbell.stores.database import Rows
from workbell.stores.port import LeaseTerms, Pick
from workbell.stores.postgres.dialect import POSTGRES, bind_values
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.runs.claiming import claims
from workbell.stores.runs.head_bounds import KNOWN
from workbell.stores.runs.moving import ATTEMPT, MOVED
from workbell.stores.runs.runs import LEASED, SEEN
from workbell.testing.contracts.making import KEEP, START, after, held, request

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
FEW = 1_000
MANY = 1_000_000 if SOAK else 50_000
BATCH = 100
BOOKED = 500  # runs that are moved at once
LANES = [Lane("default", f"q{n}", "work") for n in range(4)]

WAITING = """
    INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, input, tag, key)
    SELECT gen_random_uuid(), (%(lanes)s::bigint[])[1 + n %% 4], 'queued', 0,
        %(now)s::timestamptz + n * interval '1 ms', %(now)s, %(now)s, '{"n":1}',
        CASE n %% 10 WHEN 0 THEN 't' || n %% 1000 END, NULL
    FROM generate_series(1, %(count)s) n
"""
FINISHED_RUNS = """
    INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures,
        losses, crashes, token, user_id, finished_at, remove_at)
    SELECT gen_random_uuid(), (%(lanes)s::bigint[])[1 + n %% 4], 'succeeded', 0, %(now)s, %(now)s, %(now)s, 1, 0, 0,
        0, 1, 0, %(now)s, %(now)s::timestamptz + n * interval '1 s'
    FROM generate_series(1, %(count)s) n
"""
KEYS = """
    INSERT INTO workbell_keys (tenant, key, run) SELECT 'default', 'k' || n, gen_random_uuid()
    FROM generate_series(1, %(count)s) n
"""
ATTEMPTS = """
    INSERT INTO workbell_attempts (run, number, status, finished_at)
    SELECT id, 1, 'failed', %(now)s FROM workbell_history LIMIT 20000
"""


def fill(url: str, waiting: int, finished: int) -> None:
    values = {"lanes": [lane.id for lane in LANES], "now": START}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(WAITING, values | {"count": waiting})
        connection.execute(FINISHED_RUNS, values | {"count": finished})
        connection.execute(ATTEMPTS, values)
        connection.execute(KEYS, {"count": waiting // 4})
        connection.execute("VACUUM ANALYZE")


@pytest.fixture
def stores(postgres_server: PostgresServer) -> Iterator[tuple[PostgresStore, PostgresStore]]:
    """One store with few runs, and one with many finished and as many waiting."""
    urls = [postgres_server.create_database("workbell_template") for _ in range(2)]
    both = []
    for url, count in zip(urls, (FEW, MANY), strict=True):
        store = PostgresStore(url)
        store.runs.add([request("work", queue=lane.queue) for lane in LANES])
        fill(url, count, count)
        both.append(store)
    yield both[0], both[1]
    for store, url in zip(both, urls, strict=True):
        store.close()
        postgres_server.drop_database(url)


def picks(count: int) -> list[Pick]:
    return [Pick(lane.id, 0, count // 4) for lane in LANES]


def claim_values() -> dict[str, Any]:
    terms = LeaseTerms.drawn("worker", after(9_999), after(10_029))
    (claim,) = claims(POSTGRES, picks(BATCH), BATCH, terms)
    return bind_values(claim.values)


def arrays(names: Sequence[str], records: list[list[Any]]) -> dict[str, Any]:
    return bind_values({"rows": Rows(names, records)})


def values_of(name: str, runs: list[Run]) -> dict[str, Any]:
    """Parameters of a hot statement, for a batch of runs that were claimed."""
    now, until = after(10_000), after(10_060)
    match name:
        case "claim":
            return claim_values()
        case "ready":
            return {"ids": [run.id for run in runs], "now": now}
        case "take":
            return claim_values() | {"ids": [run.id for run in runs]}
        case "take_of_lanes":
            return claim_values() | {"ids": [run.id for run in runs], "lanes": [run.lane.id for run in runs]}
        case "finish":
            ends = [state.succeed(run, now, result="1", keep=KEEP.succeeded) for run in runs]
            return arrays(FINISHED, [[getattr(end, field) for field in FINISHED] for end in ends])
        case "finish_well":
            ends = [state.succeed(run, now, result="1", keep=KEEP.succeeded) for run in runs]
            (ending,) = POSTGRES.finish(ends, whole=True)
            return bind_values(ending.values)
        case "survey_since" | "late_heads":
            return arrays(KNOWN, [[lane.id, 0, START] for lane in sorted(LANES, key=lambda lane: lane.id)])
        case "move":
            moves = [state.retry(run, now, error="E", reason="error", wait=until - now) for run in runs]
            return arrays(MOVED, [[getattr(move, field) for field in MOVED] for move in moves])
        case "add_attempts":
            return arrays(ATTEMPT, [[run.id, 1, "failed", now, now, "worker", "E", None, run.token] for run in runs])
        case "renew":
            leases = [held(run) for run in runs]
            rows = arrays(LEASED, [[lease.run_id, lease.token, "running"] for lease in leases])
            return rows | {"lease_until": until, "taken": EPOCH}
        case "take_over":
            seen = arrays(SEEN, [[run.id, run.token, run.lease_until, "running"] for run in runs])
            return seen | {"taken": EPOCH, "limit": 500}
        case "leases":
            return {"before": now, "beyond": until}
        case "dispatch":
            return {"now": now, "limit": 500, "from_status": "scheduled", "to_status": "queued"}
        case "survey":
            return {"after": -1, "limit": 500}
        case "find_live" | "find_finished" | "finished_of" | "made_from" | "run_guards" | "lock_runs":
            return {"ids": [run.id for run in runs]}
        case "asked_to_end":
            return {"ids": [run.id for run in runs], "yes": True}
        case "free_keys":
            return arrays(["tenant", "key", "run"], [["default", f"k{n}", run.id] for n, run in enumerate(runs)])
        case "take_key" | "key_holder" | "run_of_key" | "holds_key":
            return {"tenant": "default", "key": "k77", "id": runs[0].id, "until": None, "created_at": now}
        case "pass_key":
            return {"tenant": "default", "key": "k77", "id": runs[0].id, "until": until, "before": runs[1].id}
        case "others_of_tag":
            return {"tenant": "default", "tag": "t10", "id": runs[0].id}
        case "ahead_of":
            last = after(20_000)
            return {"lane": LANES[0].id, "rank": 0, "scheduled_for": last, "id": runs[0].id}
        case "delete_finished":
            return {"now": now, "limit": 1000, "parts": 5000}
        case "expired":
            return {"now": now, "limit": 500}
        case "held_by":
            return {"worker": "worker"}
        case "pending_of_tag":
            return {"tenant": "default", "tag": "t10", "limit": 100}
        case "pending_accepted":
            return {"process": "host/1/1", "limit": 100}
        case _:
            return {}


HOT = (
    "claim ready take take_of_lanes survey_since late_heads finish finish_well move add_attempts renew dispatch survey "
    "next_due find_live "
    "find_finished finished_of made_from free_keys take_key "
    "delete_finished take_over leases expired held_by pending_of_tag accepting pending_accepted ahead_of "
    "run_guards lock_runs asked_to_end key_holder run_of_key holds_key pass_key others_of_tag"
).split()

RUN_INDEXES = {f"workbell_runs_{name}" for name in "pkey queued scheduled running tag expiry accepted schedule".split()}
BY_ID = "finish finish_well move renew take_over run_guards lock_runs asked_to_end find_live".split()
BY_KEY = {
    "key_holder": "workbell_keys_pkey",
    "run_of_key": "workbell_keys_pkey",
    "holds_key": "workbell_keys_pkey",
    "pass_key": "workbell_keys_pkey",
    "others_of_tag": "workbell_runs_tag",
}


def test_with_many_runs_as_with_few(stores: tuple[PostgresStore, PostgresStore]) -> None:
    """One test, because the rows are built once: spread over the workers of a session they would be built by each."""
    few, many = (store.calls.conninfo for store in stores)
    claims_touch_as_many_pages(few, many)
    claims_go_by_the_line_and_then_by_place(many)
    chosen_runs_go_by_the_primary_key(many)
    runs = stores[1].runs.claim(picks(BOOKED), BOOKED, LeaseTerms.drawn("worker", after(9_999), after(10_029)))
    for analyzed in (False, True):
        if analyzed:  # from now on it is known that few are running
            with psycopg.connect(many, autocommit=True) as connection:
                connection.execute("ANALYZE workbell_runs")
        moves_go_by_the_primary_key(many, runs)
        keys_and_tags_go_by_their_index(many, runs)
        no_hot_statement_reads_a_table_in_full(many, runs)
    tags_of_other_tenants_are_not_read(many, runs)


def claims_touch_as_many_pages(few: str, many: str) -> None:
    before, now = (explain(conninfo, "claim", claim_values()) for conninfo in (few, many))
    assert before.rows == now.rows == BATCH
    assert now.pages <= 1.3 * before.pages, f"{now.pages} pages with {MANY:,} runs, {before.pages} with {FEW:,}"


def claims_go_by_the_line_and_then_by_place(conninfo: str) -> None:
    for generic in (False, True):
        plan = explain(conninfo, "claim", claim_values(), generic=generic)
        assert "workbell_runs_queued" in plan.indexes
        assert "Tid Scan" in plan.nodes


def chosen_runs_go_by_the_primary_key(conninfo: str) -> None:
    with psycopg.connect(conninfo) as connection:
        found = connection.execute(
            "SELECT id, lane FROM workbell_runs WHERE status = 'queued' LIMIT %s", [BOOKED]
        ).fetchall()
    values = claim_values() | {"ids": [row[0] for row in found], "lanes": sorted({row[1] for row in found})}
    for name in ("ready", "take", "take_of_lanes"):
        for generic in (False, True):
            plan = explain(conninfo, name, values, generic=generic)
            assert plan.rows == BOOKED, name
            assert plan.indexes & RUN_INDEXES == {"workbell_runs_pkey"}, (name, generic, plan.text)


def moves_go_by_the_primary_key(conninfo: str, runs: list[Run]) -> None:
    """Not by the partial index of running runs, which is small and looks cheap: each row of the batch would read it
    from end to end."""
    for name in BY_ID:
        for generic in (False, True):
            plan = explain(conninfo, name, values_of(name, runs), generic=generic)
            if name != "asked_to_end":  # none of them was asked
                assert plan.rows == len(runs) == BOOKED, name
            assert plan.indexes & RUN_INDEXES == {"workbell_runs_pkey"}, (name, generic, plan.text)


def keys_and_tags_go_by_their_index(conninfo: str, runs: list[Run]) -> None:
    """A few pages each: the way down the index, and the row; of a tag, for each lane of the tenant that has it."""
    for name, index in BY_KEY.items():
        for generic in (False, True):
            plan = explain(conninfo, name, values_of(name, runs), generic=generic)
            assert index in plan.indexes, (name, generic, plan.text)
            assert plan.pages < 100, (name, generic, plan.pages, plan.text)


def tags_of_other_tenants_are_not_read(conninfo: str, runs: list[Run]) -> None:
    """Lane by lane of the tenant, whatever is known of the tables: 4,000 others use the same word."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO workbell_lanes (id, tenant, queue, job, created_at)"
            " SELECT 1e15 + n, 't' || n, 'q', 'work', now() FROM generate_series(1, 4000) n ON CONFLICT DO NOTHING"
        )
        connection.execute(
            "INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, tag)"
            " SELECT gen_random_uuid(), 1e15 + n, 'queued', 0, now(), now(), now(), 't10'"
            " FROM generate_series(1, 4000) n"
        )
    for analyzed in (False, True):
        if analyzed:
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute("ANALYZE")
        for name in ("pending_of_tag", "others_of_tag"):
            for generic in (False, True):
                values = values_of(name, runs) | {"tenant": "t7"}
                plan = explain(conninfo, name, values, generic=generic)
                assert plan.rows == 1, (name, plan.text)
                assert plan.pages < 100, (name, generic, analyzed, plan.pages, plan.text)


def no_hot_statement_reads_a_table_in_full(conninfo: str, runs: list[Run]) -> None:
    """Also right after the first ANALYZE, when the statistics say that every run is queued."""
    faults = {}
    for name in HOT:
        for generic in (False, True):
            plan = explain(conninfo, name, values_of(name, runs), generic=generic)
            if plan.read_in_full:
                faults[name, "generic" if generic else "custom"] = plan.read_in_full
    assert faults == {}
