"""Rows as JSON: every query of D1's set answers the same columns as SQLite's own text, in the same order."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

import msgspec
import pytest

from workbell.stores import migrate
from workbell.stores.d1.answers import MOST_ARGUMENTS, answering
from workbell.stores.d1.batches import MOST_PARAMETERS, MOST_TEXT
from workbell.stores.d1.query_set import PARAMETER, QuerySet, answerings, migration_steps, query_set, read_set
from workbell.stores.queries import migrations
from workbell.stores.sqlite.dialect import QUERIES


@pytest.fixture(scope="module")
def tables() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(migrate.dump("sqlite"))
    yield connection
    connection.close()


def columns(tables: sqlite3.Connection, sql: str) -> list[str]:
    """As SQLite names them. A LIMIT must be a number; the rest may be null."""
    limits = ("limit", "most", "quota", "parts", "scan")
    values = {name: 1 if name in limits else None for name in PARAMETER.findall(sql)}
    values |= {name: "[]" for name in values if name in ("rows", "ids", "well", "names", "jobs", "targets", "lanes")}
    tables.execute("SAVEPOINT looked")
    try:
        return [column[0] for column in tables.execute(sql, values).description or ()]
    except sqlite3.IntegrityError:  # an insert of nulls: it answers nothing
        return []
    finally:
        tables.execute("ROLLBACK TO looked")


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_the_columns_are_those_of_sqlite(name: str, tables: sqlite3.Connection) -> None:
    found = answerings()[name]
    assert list(found.columns) == columns(tables, QUERIES[name]) or "VALUES" in QUERIES[name]
    parts = ["a", "b"][: -(-len(found.columns) // MOST_ARGUMENTS)]
    assert columns(tables, found.sql) == parts or "VALUES" in QUERIES[name]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1 AS one, 'a, (b' AS two, NULL", [[1, "a, (b", None]]),
        ("SELECT 9223372036854775807 AS a, 9223372036854775807 AS a", [[2**63 - 1, 2**63 - 1]]),
        ("SELECT DISTINCT 1 AS x UNION ALL SELECT 2", [[1], [2]]),
        ("WITH r AS (SELECT 3 AS x UNION SELECT 4) SELECT r.x, 1.5 FROM r ORDER BY r.x DESC", [[4, 1.5], [3, 1.5]]),
        ("SELECT CASE WHEN 1 THEN '[1]' END", [["[1]"]]),
    ],
)
def test_rows_are_exact(sql: str, rows: list[list[object]]) -> None:
    connection = sqlite3.connect(":memory:")
    found = answering(sql)
    assert [json.loads(row[0]) for row in connection.execute(found.sql)] == rows
    assert len(found.columns) == len(rows[0])
    connection.close()


def test_what_returns_rows() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a, b)")
    found = answering("INSERT INTO t (a, b) SELECT 1, 'RETURNING x' RETURNING b, a")
    assert [json.loads(row[0]) for row in connection.execute(found.sql)] == [["RETURNING x", 1]]
    assert found.columns == ("b", "a")
    assert answering("INSERT INTO t (a) SELECT 1").columns == ()
    connection.close()


def test_the_set_is_within_the_limits() -> None:
    for name, text in query_set().queries.items():
        assert len(text.encode()) < MOST_TEXT, name
        assert len(set(PARAMETER.findall(text))) <= MOST_PARAMETERS, name
        assert ";" not in text, name


def test_the_migrations_in_steps_make_the_same_tables() -> None:
    schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    by_steps, by_script = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    by_script.executescript(migrate.dump("sqlite"))
    by_steps.execute(migrate.META)
    for number, _, _ in migrations("sqlite"):
        for _, text in migration_steps(number):
            by_steps.execute(text)

    def plain(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
        lines = "\n".join(str(row) for row in connection.execute(schema)).replace("\\n", "\n").splitlines()
        return [tuple(line.split()) for line in lines if not line.strip().startswith("--")]

    assert plain(by_steps) == plain(by_script)
    by_steps.close()
    by_script.close()


def test_the_digest_names_the_texts() -> None:
    ours = query_set()
    assert read_set(msgspec.json.encode(ours).decode()) == ours
    assert (
        ours.digest == msgspec.structs.replace(ours, version="9.9").digest
    )  # a version that changes no query needs no new bridge
    assert QuerySet("1", {"a": "SELECT 1"}).digest != QuerySet("1", {"a": "SELECT 2"}).digest
