"""The protocol page (D10) says what the code does: diagram, moves, lane ids, columns."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import msgspec

from tests.docs.pages import DOCS, ROOT, table_rows, text_of
from workbell.model.ids import lane_id
from workbell.model.limit import Limits, limits_on
from workbell.model.run import Lane
from workbell.model.schedule import ScheduleOptions
from workbell.model.state import FINISHED, MOVES, diagram
from workbell.queues import message
from workbell.stores.d1.query_set import answerings, parameters
from workbell.stores.migrate import NEWEST
from workbell.stores.rows import LIVE, STARTED
from workbell.stores.runs.moving import ATTEMPT, KEY, MOVED, REPORT
from workbell.stores.runs.runs import LEASED
from workbell.timing import jitter

TEXT = text_of(DOCS / "protocol.md")
MIGRATIONS = ROOT / "src" / "workbell" / "stores" / "sql" / "migrations"
TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)
COLUMN = re.compile(r"^    ([a-z_]+) +([A-Za-z ]+?)(?: NOT NULL.*| DEFAULT.*| PRIMARY.*| CHECK.*)?,?$", re.MULTILINE)
CHANGED = re.compile(r"^ALTER TABLE (\w+) ALTER COLUMN ([a-z_]+) TYPE ([a-z]+)", re.MULTILINE)
ADDED = re.compile(r"^ALTER TABLE (\w+) ADD COLUMN ([a-z_]+) ([A-Za-z]+)", re.MULTILINE)
VECTOR = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| (?:`([^`]+)`|none) \| `(\d+)` \|$", re.MULTILINE)
KEYED = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| none \| `([^`]+)` \| `(\d+)` \|$", re.MULTILINE)


def test_the_state_diagram_is_the_state_machine() -> None:
    """D3: what the page draws is what the code does."""
    shown = TEXT.partition("<!-- state-diagram -->\n")[2].partition("<!-- /state-diagram -->")[0]
    assert shown == f"```mermaid\n{diagram()}\n```\n"


def test_every_move_is_listed_with_its_statuses() -> None:
    rows = {row[0].strip("`"): row for row in table_rows(TEXT, "Moves")}
    for move, rule in MOVES.items():
        shown = rows[move]
        assert re.findall(r"`(\w+)`", shown[1]) == list(rule.sources), move
        assert re.findall(r"`(\w+)`", shown[2]) == list(rule.targets), move


def test_lane_ids_are_right() -> None:
    """The vectors that a consumer in another language checks itself against."""
    rows = VECTOR.findall(TEXT)
    assert len(rows) >= 3
    for tenant, queue, job, target, number in rows:
        assert int(number) == lane_id(tenant, queue, job, target or None)


def test_lanes_with_a_key_and_limits_are_right() -> None:
    """The same for the ids that limits need."""
    keyed = KEYED.findall(TEXT)
    assert len(keyed) >= 2
    for tenant, queue, job, key, number in keyed:
        assert int(number) == lane_id(tenant, queue, job, None, key)
    rows = [[cell.strip("`") for cell in row] for row in table_rows(TEXT, "Limits")]
    assert len(rows) >= 2
    for tenant, job, key, number in rows:
        limits = Limits(1) if key == "no" else Limits(1, "customer")
        (limit,) = limits_on(limits, Lane(tenant, "default", job, None, None if key == "no" else key))
        assert int(number) == limit.id


def test_the_tables_have_the_columns_of_both_engines() -> None:
    for engine, place in (("postgres", 1), ("sqlite", 2)):
        sql = "\n".join(text_of(file) for file in sorted((MIGRATIONS / engine).glob("*.sql")))
        tables = TABLE.findall(sql)
        assert len(tables) >= 9
        for table, body in tables:
            changed = {name: kind for where, name, kind in CHANGED.findall(sql) if where == table}
            columns = [(name, changed.get(name, kind.strip())) for name, kind in COLUMN.findall(body)]
            columns += [(name, kind) for where, name, kind in ADDED.findall(sql) if where == table]
            section = TEXT.partition(f"### `{table}`")[2].partition("\n### ")[0]
            rows = [re.findall(r"`([^`]+)`", line) for line in section.splitlines() if line.startswith("| `")]
            assert [(row[0], row[place]) for row in rows] == columns, (engine, table)


def test_the_settings_of_a_schedule_are_those_of_the_code() -> None:
    rows = table_rows(TEXT, "Settings of a schedule")
    shown = {row[0].strip("`"): row[1].strip("`") for row in rows}
    defaults = {field.name: field.default for field in msgspec.structs.fields(ScheduleOptions)}
    plain = {name: {None: "null", "": "empty"}.get(value, str(value)) for name, value in defaults.items()}
    assert shown == plain


def test_delays_of_ticks_are_right() -> None:
    rows = [[cell.strip("`") for cell in row] for row in table_rows(TEXT, "Jitter")]
    assert len(rows) >= 3
    for schedule, tick, span, delay in rows:
        found = jitter(schedule, datetime.fromisoformat(tick), float(span))
        assert found == timedelta(microseconds=int(delay))


def test_the_version_of_the_schema_is_the_newest() -> None:
    assert f"version {NEWEST} of the schema" in TEXT


def test_the_queries_of_a_consumer_are_those_of_the_bridge() -> None:
    """Names, values and columns: whoever writes a consumer has nothing but this page."""
    rows = table_rows(TEXT, "Queries of a consumer")
    assert len(rows) >= 15
    for query, values, answer in rows:
        found = answerings()[query.strip("`")]
        named = re.findall(r"(?:^|[,;] )`(\w+)`", values)
        assert sorted(named) == sorted(parameters(found.sql)), query
        of_runs = {"a live run": LIVE, "a started run": STARTED}
        columns = of_runs.get(answer.partition(";")[0]) or re.findall(r"`(\w+)`", answer)
        assert tuple(columns) == found.columns[: len(columns)], query
        assert bool(columns) == bool(found.columns), query


def test_rows_of_the_queries_have_the_columns_of_the_code() -> None:
    shown = {
        row[0].strip("`"): re.findall(r"\[([^\]]+)\]", row[1]) for row in table_rows(TEXT, "Queries of a consumer")
    }
    lists = {query: found[0].split(", ") for query, found in shown.items() if found}
    assert {query: len(columns) for query, columns in lists.items()} == {
        "renew": len(LEASED),
        "move": len(MOVED),
        "add_attempts": len(ATTEMPT),
        "finish": len(FINISHED),
        "free_keys": len(KEY),
        "report": len(REPORT),
    }
    assert lists["move"][4:] == MOVED[4:]
    assert [*lists["finish"][4:11], "result_text", "remove_at"] == FINISHED[4:]
    assert lists["add_attempts"] == ATTEMPT
    assert lists["free_keys"] == list(KEY)


def test_the_queue_message_is_that_of_the_code() -> None:
    (shown,) = re.findall(r'^\{"version".*\}$', TEXT.partition("## The queue message")[2], re.MULTILINE)
    assert message.encode(message.decode(shown)) == shown.replace(": ", ":").replace(", ", ",")
