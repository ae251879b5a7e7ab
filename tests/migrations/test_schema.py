"""The two engines have one schema; and the SQL for those who run it by hand makes a store that works."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import psycopg
import pytest

from workbell.app import open_store
from workbell.stores import migrate, rows
from workbell.stores.port import Store
from workbell.testing.contracts.making import claimed
from workbell.testing.contracts.parts.copying import everything, fill

SQLITE_COLUMNS = """
    SELECT m.name, c.name, c."notnull" FROM sqlite_master m, pragma_table_info(m.name) c
    WHERE m.type = 'table' AND m.name LIKE 'workbell%'
"""
POSTGRES_COLUMNS = """
    SELECT table_name, column_name, is_nullable = 'NO' FROM information_schema.columns
    WHERE table_schema = current_schema()
"""
# Those that we made ourselves, and not those behind a primary key or a unique constraint.
POSTGRES_INDEXES = """
    SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()
    AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""


def path_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


@pytest.fixture
def sqlite_columns(empty_sqlite_url: str) -> Iterator[sqlite3.Connection]:
    store = open_store(empty_sqlite_url)
    store.migrate()
    store.close()
    connection = sqlite3.connect(path_of(empty_sqlite_url))
    yield connection
    connection.close()


def test_both_engines_have_the_same_tables_and_columns(sqlite_columns: sqlite3.Connection, postgres_url: str) -> None:
    here = {(row[0], row[1]) for row in sqlite_columns.execute(SQLITE_COLUMNS)}
    with psycopg.connect(postgres_url) as connection:
        there = {(row[0], row[1]) for row in connection.execute(POSTGRES_COLUMNS)}
    assert here == there


def test_both_engines_have_the_same_indexes(sqlite_columns: sqlite3.Connection, postgres_url: str) -> None:
    query = "SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%'"
    here = {row[0] for row in sqlite_columns.execute(query)}
    with psycopg.connect(postgres_url) as connection:
        there = {row[0] for row in connection.execute(POSTGRES_INDEXES)}
    assert here == there


def test_the_tables_have_the_columns_that_the_code_reads(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        found = [(row[0], row[1]) for row in connection.execute(POSTGRES_COLUMNS)]
    assert sorted(name for table, name in found if table == "workbell_runs") == sorted(rows.LIVE)
    assert sorted(name for table, name in found if table == "workbell_history") == sorted(rows.HISTORY)


@pytest.fixture(params=["sqlite", "postgres"])
def by_hand(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store whose tables were made by running the dump."""
    text = migrate.dump(request.param)
    if request.param == "sqlite":
        url: str = request.getfixturevalue("empty_sqlite_url")
        connection = sqlite3.connect(path_of(url))
        connection.executescript(text)
        connection.close()
    else:
        url = request.getfixturevalue("empty_postgres_url")
        with psycopg.connect(url) as there:
            there.execute(text)
    store = open_store(url)
    yield store
    store.close()


def test_the_dump_run_by_hand_makes_a_working_store(by_hand: Store) -> None:
    by_hand.check()
    assert by_hand.migrate() == []
    run = claimed(by_hand)
    assert set(by_hand.runs.find([run.id])) == {run.id}


def test_a_store_by_hand_holds_everything(by_hand: Store) -> None:
    fill(by_hand)
    assert all(everything(by_hand).values())
