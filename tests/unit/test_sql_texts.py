"""The SQL files and the one builder of SQL: names, parameters, filters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import pytest

from tests.unit.makers import run_in
from workbell.model.run import FINAL, LIVE, NewRun, OnDuplicate, Status
from workbell.model.state import Keep
from workbell.stores.database import Statement
from workbell.stores.filters import LaneChoice, Stream, lanes_beside, lanes_wanted, streams_of
from workbell.stores.looks import choose
from workbell.stores.port import Filter
from workbell.stores.queries import expand, migrations, parse, queries, spell_postgres
from workbell.stores.rows import place_columns
from workbell.stores.sql_events import statements_for_event
from workbell.stores.statements import Replacing, making
from workbell.testing.contracts.store.events import fact

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


def test_parameters_are_spelled_for_psycopg() -> None:
    assert spell_postgres("a = :a AND b LIKE '%x' AND c = CAST(:c_d AS int)") == (
        "a = %(a)s AND b LIKE '%%x' AND c = CAST(%(c_d)s AS int)"
    )
    assert spell_postgres("SELECT x::text, '12:30'") == "SELECT x::text, '12:30'"


def test_a_list_is_a_condition_of_each_engine() -> None:
    text = "DELETE FROM t WHERE id {among ids uuid} AND x = :x"
    assert expand(text, "sqlite") == "DELETE FROM t WHERE id IN (SELECT value FROM json_each(:ids)) AND x = :x"
    assert expand(text, "postgres") == "DELETE FROM t WHERE id = ANY(CAST(:ids AS uuid[])) AND x = :x"


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
    wanted = Filter(evil, [Status.FAILED, Status.QUEUED], evil, evil, evil, evil, 666, evil, 7)
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


def every_statement(new: NewRun) -> Iterator[Statement]:
    """The statements that make a run which replaces one, and whose end tells an event."""
    old = run_in(Status.CANCELED, finished_at=new.run.created_at)
    answers = {
        "cancel_pending": [["-", old.lane.id]],
        "find_lanes": [[old.lane.id, *"abcde"]],
        "key_holder": [[new.run.id]],
    }
    told = Replacing(
        Keep(),
        lambda _row, _lanes: old,
        lambda pairs: [(run, msgspec.structs.replace(change, emits=(fact(key="k"),))) for run, change in pairs],
        statements_for_event,
    )
    statements = making(new, told, [])
    statement = next(statements)
    while True:
        yield statement
        try:
            statement = statements.send(answers.get(statement.query, []))
        except StopIteration:
            return


def test_every_statement_of_an_enqueue_is_in_the_files() -> None:
    left_out = {("postgres", "remove_canceled"), ("postgres", "free_replaced_keys"), ("sqlite", "lock_tag")}
    for engine in ("sqlite", "postgres"):
        for mode in OnDuplicate:
            for key in (None, "k"):
                new = NewRun(run_in(Status.QUEUED, key=key, tag="t"), mode, None, replace_tag=True)
                for statement in every_statement(new):
                    text = queries(engine).get(statement.query)
                    if text is None:
                        assert (engine, statement.query) in left_out
                        continue
                    assert set(re.findall(r"(?<![:\w]):([a-z_]+)", text)) <= set(statement.values)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_statement_of_an_emit_is_in_the_files(engine: str) -> None:
    for key, names in ((None, ["add_event"]), ("k", ["add_event", "event_holder"])):
        statements = statements_for_event(fact(key=key))
        assert [statement.query for statement in statements] == names
        for statement in statements:
            text = place_columns(queries(engine)[statement.query])
            assert "{" not in text
            assert set(re.findall(r"(?<![:\w]):([a-z_]+)", text)) == set(statement.values)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_the_columns_of_every_query_are_filled_in(engine: str) -> None:
    assert [name for name, text in queries(engine).items() if re.search(r"\{\w+\}", place_columns(text))] == []
