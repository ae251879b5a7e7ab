"""Tables in D1: made and migrated in batches that fit, and completed by others if a process dies on the way."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.next_version import NAME, NUMBER, next_version
from workbell.errors import SchemaMismatch
from workbell.stores import migrate
from workbell.stores.d1.batches import MOST_STATEMENTS, bound
from workbell.stores.d1.query_set import answerings, migration_steps
from workbell.stores.d1.tables import D1Tables
from workbell.stores.database import Batch, Conflict, Row, conflict
from workbell.stores.queries import migrations

LONG = "\n".join(f"CREATE TABLE workbell_long_{number:02} (id INTEGER);" for number in range(3 * MOST_STATEMENTS))


class Died(Exception):
    """The process ended before its next batch."""


class FakeD1:
    """SQLite that takes a batch as the bridge does: as a whole or not at all, and no more statements than fit."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.written = 0  # batches
        self.dies_after: int | None = None

    def read(self, batch: Batch) -> list[list[Row]]:
        return [self._execute(*statement[:2]) for statement in batch]

    def write(self, batch: Batch) -> list[list[Row]]:
        if self.written == self.dies_after:
            raise Died
        assert sum(each.number for each in bound(batch)) <= MOST_STATEMENTS
        self.connection.execute("BEGIN")
        try:
            answers = []
            for statement in batch:
                answers.append(self._execute(statement.query, statement.values))
                if statement.exactly not in (None, len(answers[-1])):
                    raise conflict(statement.query, len(answers[-1]), statement.exactly or 0)
        except Conflict:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        self.written += 1
        return answers

    def _execute(self, query: str, values: object) -> list[Row]:
        return [json.loads(row[0]) for row in self.connection.execute(answerings()[query].sql, values)]

    def schema(self) -> list[Row]:
        return self.connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()

    def meta(self) -> dict[str, str]:
        found = dict(self.connection.execute("SELECT name, value FROM workbell_meta"))
        assert found.pop("store_id")
        return found


@pytest.fixture
def d1() -> Iterator[FakeD1]:
    found = FakeD1()
    with closing(found.connection):
        yield found


def complete() -> tuple[list[Row], dict[str, str], int]:
    """What tables are at the end, and how many batches make them."""
    whole = FakeD1()
    with closing(whole.connection):
        D1Tables(whole.read, whole.write).make_ready("here")
        return whole.schema(), whole.meta(), whole.written


def test_the_first_migration_takes_several_batches() -> None:
    assert len(migration_steps(1)) > MOST_STATEMENTS
    _, meta, number = complete()
    assert number > 1
    assert meta == {"schema_version": "1", "oldest_reader": "1", "subscriptions": "0", "definitions": "0"}


@pytest.mark.parametrize("batches", range(1, 3))
def test_tables_that_somebody_began_to_make_are_completed(d1: FakeD1, batches: int) -> None:
    schema, meta, number = complete()
    assert batches < number
    d1.dies_after = batches
    with pytest.raises(Died):
        D1Tables(d1.read, d1.write).make_ready("here")
    assert d1.schema() != schema
    d1.dies_after = None
    D1Tables(d1.read, d1.write).make_ready("here")
    assert (d1.schema(), d1.meta(), d1.written) == (schema, meta, number)


def test_two_that_make_them_at_once_do_nothing_twice(d1: FakeD1) -> None:
    """The other one goes on before each batch of this one, whose guard then says no."""
    schema, meta, number = complete()
    other = D1Tables(d1.read, d1.write)

    def write(batch: Batch) -> list[list[Row]]:
        d1.dies_after = d1.written + 1
        with suppress(Died):
            other.migrate()
        d1.dies_after = None
        return d1.write(batch)

    assert D1Tables(d1.read, write).migrate() == []
    assert (d1.schema(), d1.meta(), d1.written) == (schema, meta, number)


def test_a_migration_that_nobody_has_begun_waits_for_the_command(d1: FakeD1, tmp_path: Path) -> None:
    D1Tables(d1.read, d1.write).make_ready("here")
    with next_version(tmp_path / "next", oldest=NUMBER).here():
        tables = D1Tables(d1.read, d1.write)
        with pytest.raises(SchemaMismatch, match="run `workbell migrate`"):
            tables.make_ready("here")
        assert tables.migrate() == [NAME]
        tables.make_ready("here")


def test_a_long_migration_is_completed_by_whoever_comes(d1: FakeD1, tmp_path: Path) -> None:
    """Programs of this version work on meanwhile: the version changes with the last batch."""
    ours = D1Tables(d1.read, d1.write)
    ours.make_ready("here")
    version = next_version(tmp_path / "next", text=LONG)
    with version.here():
        d1.dies_after = d1.written + 1
        with pytest.raises(Died):
            D1Tables(d1.read, d1.write).migrate()
        d1.dies_after = None
    assert len(migrations("sqlite")) == migrate.NEWEST
    ours.make_ready("here")
    assert d1.meta()["schema_version"] == str(migrate.NEWEST)
    with version.here():
        D1Tables(d1.read, d1.write).make_ready("here")
    assert d1.meta()["schema_version"] == str(NUMBER)
    assert sum(name.startswith("workbell_long_") for _, name, _ in d1.schema()) == 3 * MOST_STATEMENTS
