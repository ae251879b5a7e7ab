"""The SQL files and the one builder of SQL: names, parameters, filters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from tests.unit.makers import run_in
from workbell.model.event import NewEvent
from workbell.model.ids import new_id
from workbell.model.run import FINAL, LIVE, NewRun, OnDuplicate, Run, Status
from workbell.model.state import Retention
from workbell.stores import rows
from workbell.stores.database import Dialect, Row, Statement
from workbell.stores.events.adding import emitting
from workbell.stores.flows import Flow
from workbell.stores.port import Filter
from workbell.stores.postgres.dialect import POSTGRES
from workbell.stores.queries import expand, migrations, parse, psycopg_parameters, queries
from workbell.stores.reports.filters import LaneChoice, Stream, lanes_beside, lanes_wanted, streams_of
from workbell.stores.reports.search_plans import choose
from workbell.stores.rows import fill_columns, to_micros
from workbell.stores.runs.adding import Replacing, adding
from workbell.stores.runs.moving import moving
from workbell.stores.sqlite.dialect import SQLITE
from workbell.testing.contracts.parts.events import fact

TEXT = """-- A remark about the file.

-- first: what it is for
-- A further remark.
SELECT 1
    -- within
WHERE a = :a

-- second: another
SELECT 2
"""


def test_queries_are_found_by_name_without_their_remarks() -> None:
    assert parse(TEXT) == {"first": "SELECT 1\nWHERE a = :a", "second": "SELECT 2"}
    assert parse("") == {}


def test_a_name_that_is_there_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="first is there twice"):
        parse(TEXT + "-- first: again\nSELECT 3\n")


def test_parameters_are_written_for_psycopg() -> None:
    assert psycopg_parameters("a = :a AND b LIKE '%x' AND c = CAST(:c_d AS int)") == (
        "a = %(a)s AND b LIKE '%%x' AND c = CAST(%(c_d)s AS int)"
    )
    assert psycopg_parameters("SELECT x::text, '12:30'") == "SELECT x::text, '12:30'"


def test_a_list_is_a_condition_of_each_engine() -> None:
    text = "DELETE FROM t WHERE id {among ids uuid} AND x = :x"
    assert expand(text, "sqlite") == "DELETE FROM t WHERE id IN (SELECT value FROM json_each(:ids)) AND x = :x"
    assert expand(text, "postgres") == (
        "DELETE FROM t WHERE id = ANY(ARRAY(SELECT unnest(CAST(:ids AS uuid[])))) AND x = :x"
    )


def test_rows_are_a_table_of_each_engine() -> None:
    text = "SELECT * FROM {rows new: id uuid, at timestamptz,\n    share double precision} WHERE true"
    assert expand(text, "sqlite") == (
        "SELECT * FROM (SELECT value ->> 0 AS id, value ->> 1 AS at, value ->> 2 AS share FROM json_each(:rows)) "
        "AS new WHERE true"
    )
    assert expand(text, "postgres") == (
        "SELECT * FROM unnest(CAST(:id AS uuid[]), CAST(:at AS timestamptz[]), CAST(:share AS double precision[])) "
        "AS new(id, at, share) WHERE true"
    )


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_no_macro_is_left(engine: str) -> None:
    assert [name for name, text in queries(engine).items() if "{among" in text or "{rows" in text] == []


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_an_engines_file_overrides_the_shared_one(engine: str) -> None:
    found = queries(engine)
    assert {"claim", "finish", "move", "add_run", "key_holder"} <= set(found)
    assert all(found.values())
    assert [number for number, _, _ in migrations(engine)] == list(range(1, len(migrations(engine)) + 1))


def test_the_engines_have_the_same_migrations() -> None:
    names = [[name for _, name, _ in migrations(engine)] for engine in ("sqlite", "postgres")]
    assert names[0] == names[1]


EVERY = LaneChoice([1, 2, 3], every=True)
SOME = LaneChoice([1, 2])
MANY = LaneChoice([], many=True)


def asked(wanted: Filter, lanes: LaneChoice = EVERY) -> list[Stream]:
    return list(streams_of(wanted, lanes))


def texts(stream: Stream, *, there: str | None = None) -> list[str]:
    """Every statement that is made for a stream, where each index leads to more than may be looked at, or to less."""
    made: list[str] = []

    def ask(sql: str, values: dict[str, object]) -> list[list[str]]:
        made.append(sql)
        return [] if there is None else [[there]]

    for bounded in (True, False):
        chosen = choose(stream, ask, lambda newest: f"merged {newest}", 10, bounded=bounded)
        made += [text for text in (chosen.first, chosen.ids, chosen.number) if text is not None]
    return made


def test_a_list_asks_for_live_runs_and_for_history() -> None:
    live, finished = asked(Filter(None))
    assert texts(live)[0] == "SELECT r.id FROM workbell_runs r ORDER BY r.id DESC LIMIT :limit"
    assert texts(finished)[0] == "SELECT r.id FROM workbell_history r ORDER BY r.id DESC LIMIT :limit"


def test_tenant_queue_and_job_are_asked_of_the_lanes() -> None:
    wanted = Filter("a", queue="q", job="j")
    ours = {"tenant": "a", "job": "j", "queue": "q"}
    sql, values = lanes_wanted(wanted)
    assert sql == "SELECT id FROM workbell_lanes WHERE tenant = :tenant AND job = :job AND queue = :queue LIMIT :limit"
    assert values == ours | {"limit": 1000}
    sql, values = lanes_beside(wanted)
    assert "WHERE tenant < :tenant OR tenant > :tenant OR job < :job OR job > :job OR queue < :queue OR queue >" in sql
    assert values == ours | {"limit": 1}


def test_a_lane_may_have_no_key_at_all() -> None:
    sql, values = lanes_wanted(Filter("a", lane_key="k"))
    assert "WHERE tenant = :tenant AND key = :key LIMIT" in sql
    assert (values["tenant"], values["key"]) == ("a", "k")
    sql, values = lanes_beside(Filter("a", lane_key="k"))
    assert "OR key < :key OR key > :key OR key IS NULL LIMIT" in sql
    live, ended = asked(Filter("a", lane_key="k"), MANY)
    assert "l.key = :key" in live.cheap[0]
    assert "(l.key || '') = :key" in ended.cheap[0]


def test_few_lanes_are_named_and_many_are_described() -> None:
    live, finished = asked(Filter("a"), SOME)
    assert all("{lanes}" in sql for sql in texts(live))
    assert (
        "merged SELECT r.id FROM workbell_history r WHERE r.lane = lane.value ORDER BY r.id DESC" in texts(finished)[0]
    )
    assert live.values["lanes"] == finished.values["lanes"] == [1, 2]
    live, ended = asked(Filter("a", job="j"), MANY)
    listed = "SELECT l.id FROM workbell_lanes l WHERE l.tenant = :tenant AND l.job = :job"
    assert live.cheap == [f"(r.lane IN ({listed})) IS TRUE"]
    of_lane = "l.id = r.lane AND (l.tenant || '') = :tenant AND (l.job || '') = :job"
    assert ended.cheap == [f"(SELECT 1 FROM workbell_lanes l WHERE {of_lane}) IS NOT NULL"]
    assert all((stream.values["tenant"], stream.values["job"]) == ("a", "j") for stream in (live, ended))
    assert asked(Filter("a"), LaneChoice([], every=True, many=True))[0].cheap == []


def test_a_filter_that_no_lane_meets_asks_nothing() -> None:
    """Above all: of a tenant without lanes, nothing, and not everything."""
    assert asked(Filter("stranger"), LaneChoice([])) == []


def test_statuses_choose_the_table() -> None:
    (live,) = asked(Filter(None, [Status.QUEUED]))
    assert (live.table, live.cheap) == ("workbell_runs", ["r.status = 'queued'"])
    (live,) = asked(Filter(None, [Status.QUEUED, Status.SCHEDULED]))
    assert (live.table, live.cheap) == ("workbell_runs", ["r.status IN ('scheduled', 'queued')"])
    ended = asked(Filter(None, [Status.FAILED, Status.CANCELED]))
    assert [stream.table for stream in ended] == ["workbell_history"] * 2
    assert [stream.ways[0].served for stream in ended] == ["r.status = 'failed'", "r.status = 'canceled'"]
    (ended,) = asked(Filter(None, [Status.FAILED, Status.SUCCEEDED]))
    assert (list(ended.ways), ended.cheap) == ([], ["(r.status || '') IN ('succeeded', 'failed')"])
    assert all(not stream.cheap for stream in asked(Filter(None, [*LIVE, *FINAL])))


@pytest.mark.parametrize("there", [None, "00000000"])
@pytest.mark.parametrize("lanes", [EVERY, SOME, MANY, LaneChoice([1])])
def test_no_value_ever_gets_into_the_text(lanes: LaneChoice, there: str | None) -> None:
    evil = "'; DROP TABLE workbell_runs; --"
    wanted = Filter(evil, [Status.FAILED, Status.QUEUED], evil, evil, evil, evil, 666, before=evil, limit=7)
    streams = asked(wanted, lanes)
    assert len(streams) == 2
    for stream in streams:
        for sql in texts(stream, there=there):
            assert "DROP" not in sql
            assert "666" not in sql
            named = set(re.findall(r":(\w+)", sql)) - {"limit", "end"}
            assert named <= set(stream.values)
            if "r.user_id" in sql:
                assert {"tag", "schedule", "user_id", "before"} <= named
        assert stream.values["tag"] == stream.values["before"] == evil


DIALECTS: dict[str, Dialect] = {"sqlite": SQLITE, "postgres": POSTGRES}


def every_statement(flow: Flow[Any], answers: Mapping[str, list[Row]]) -> Iterator[Statement]:
    """The statements of a flow, each answered in the same way."""
    step = next(flow)
    while True:
        yield from step.batch
        try:
            step = flow.send([answers.get(statement.query, []) for statement in step.batch])
        except StopIteration:
            return


def replacing(dialect: Dialect) -> Replacing:
    """The end of each run that is replaced tells an event."""
    return Replacing(
        dialect,
        Retention(),
        lambda pairs: [(run, msgspec.structs.replace(change, emits=(fact(key="k"),))) for run, change in pairs],
        lambda changes: moving(dialect, changes, whole=True),
    )


def has_all_parameters(engine: str, statement: Statement) -> bool:
    text = queries(engine)[statement.query]
    bound = DIALECTS[engine].bound(statement)
    return set(re.findall(r"(?<![:\w]):([a-z_]+)", fill_columns(text))) <= set(bound.values)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
@pytest.mark.parametrize("mode", OnDuplicate)
@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("tag", [None, "t"])
def test_every_statement_of_an_enqueue_is_in_the_files(
    engine: str, mode: OnDuplicate, key: str | None, tag: str | None
) -> None:
    """Of a run that replaces another, which holds the key."""
    dialect = DIALECTS[engine]
    new = NewRun(run_in(Status.QUEUED, key=key, tag=tag), mode, None, replace_tag=tag is not None)
    old = run_in(Status.QUEUED, id=new_id(), key=key, tag=tag)
    row = live_row(old, engine)
    answers = {
        "pending_of_tag": [row],
        "run_of_key": [row],
        "find_lanes": [[old.lane.id, old.lane.tenant, old.lane.queue, old.lane.job, None, None]],
        "key_holder": [[old.id, True, False]],
    }
    named = set()
    for statement in every_statement(adding([new], replacing(dialect)), answers):
        named.add(statement.query)
        assert has_all_parameters(engine, statement), statement
    ends = tag is not None or (key is not None and mode is OnDuplicate.REPLACE)
    assert ends == ({"finish", "add_events"} <= named)
    assert (tag is not None) == ("others_of_tag" in named)
    assert (tag is not None and engine == "postgres") == ("lock_tag" in named)
    # A key that the end of the other has freed is taken like a new one; else it goes from run to run.
    replaces = key is not None and mode is OnDuplicate.REPLACE
    assert (replaces and tag is None) == ("pass_key" in named)
    assert (key is not None and (mode is OnDuplicate.REJECT or (replaces and tag is not None))) == (
        "holds_key" in named
    )


def live_row(run: Run, engine: str) -> list[Any]:
    """The row of a live run, as an engine answers it."""
    values = {name: getattr(run, rows.FIELDS.get(name, name)) for name in rows.LIVE}
    values |= {"lane": run.lane.id, "status": run.status.value}
    if engine == "sqlite":
        values |= {name: to_micros(value) for name, value in values.items() if name in rows.TIMES}
    return list(values.values())


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_statement_of_an_emit_is_in_the_files(engine: str) -> None:
    for key, names in ((None, ["add_events"]), ("k", ["add_events", "event_holder"])):
        statements = list(every_statement(emitting([NewEvent(fact(key=key))]), {"event_holder": [[new_id()]]}))
        assert [statement.query for statement in statements] == names
        for statement in statements:
            assert "{" not in fill_columns(queries(engine)[statement.query])
            assert has_all_parameters(engine, statement), statement


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_the_columns_of_every_query_are_filled_in(engine: str) -> None:
    assert [name for name, text in queries(engine).items() if re.search(r"\{\w+\}", fill_columns(text))] == []


def test_a_claim_on_a_file_takes_the_runs_that_it_answers() -> None:
    """Its answer is read before it: both must choose the same runs, in the same order."""
    texts = queries("sqlite")

    def choice(name: str) -> str:
        start = texts[name].index("WHERE q.status")
        return " ".join(texts[name][start : texts[name].index(":quota", start)].split())

    assert choice("claim") == choice("claimable")
