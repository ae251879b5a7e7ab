"""Schema versions: set up on first use, refused with the command that mends it, shared by two versions of Workbell."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.support.next_version import NAME, NUMBER, NextVersion, next_version
from workbell.app import open_store
from workbell.errors import SchemaMismatch
from workbell.stores import migrate
from workbell.stores.queries import MIGRATIONS, migrations
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import add, claim, request


def opened(url: str) -> SqlStore:
    store = open_store(url)
    assert isinstance(store, SqlStore)
    return store


def versions(store: SqlStore) -> dict[str, str]:
    rows = store.database.run_read(lambda session: session.text_rows("SELECT name, value FROM workbell_meta", {}))
    return {row[0]: row[1] for row in rows}


def works(url: str) -> None:
    with closing(opened(url)) as store:
        store.check()
        (run,) = add(store, request())
        assert [one.id for one in claim(store)] == [run.id]


def migrated_by(version: NextVersion, url: str) -> None:
    with version.here(), closing(opened(url)) as store:
        assert store.migrate() == [NAME]
        store.check()


def test_a_new_store_is_set_up_on_first_use(empty_url: str) -> None:
    works(empty_url)
    with closing(opened(empty_url)) as store:
        found = versions(store)
    assert found["schema_version"] == str(migrate.NEWEST)
    assert found["oldest_reader"] == str(migrate.OLDEST_READER)
    assert found["store_id"]


def test_migrating_says_what_ran_and_does_nothing_twice(empty_url: str) -> None:
    with closing(opened(empty_url)) as store:
        assert store.migrate() == [name for _, name, _ in migrations(store.engine)]
        before = versions(store)
        (run,) = add(store, request())
        assert store.migrate() == []
        assert versions(store) == before
        assert set(store.runs.find([run.id])) == {run.id}


def test_the_newest_migration_is_the_one_the_code_knows() -> None:
    assert {folder.name for folder in MIGRATIONS.iterdir()} == {"sqlite", "postgres"}
    for engine in ("sqlite", "postgres"):
        assert [number for number, _, _ in migrations(engine)] == list(range(1, migrate.NEWEST + 1))
    assert 1 <= migrate.OLDEST <= migrate.NEWEST
    assert migrate.OLDEST_READER <= migrate.NEWEST


def test_an_older_schema_names_the_command(sql_store_url: str, tmp_path: Path) -> None:
    """The next version needs its own schema: it refuses this one, and its command mends that."""
    version = next_version(tmp_path / "next", oldest=NUMBER)
    with version.here(), closing(opened(sql_store_url)) as store:
        expected = rf"has schema {migrate.NEWEST - 1} .*at least {NUMBER}; run `workbell migrate`"
        with pytest.raises(SchemaMismatch, match=expected) as caught:
            store.check()
        assert caught.value.exit_code == 78
        assert store.migrate() == [NAME]
        store.check()


def test_a_newer_version_works_with_an_older_schema_that_it_knows(sql_store_url: str, tmp_path: Path) -> None:
    """It is not migrated by the way: that is the command's."""
    with next_version(tmp_path / "next").here():
        works(sql_store_url)
    with closing(opened(sql_store_url)) as store:
        assert versions(store)["schema_version"] == str(migrate.NEWEST)


def test_a_newer_schema_names_the_upgrade(sql_store_url: str, tmp_path: Path) -> None:
    version = next_version(tmp_path / "next", oldest_reader=NUMBER)
    migrated_by(version, sql_store_url)
    with closing(opened(sql_store_url)) as store:
        expected = (
            rf"has schema {NUMBER}, which is newer than this Workbell knows \({migrate.NEWEST}\); upgrade it with"
        )
        for verb in (store.check, store.migrate):
            with pytest.raises(SchemaMismatch, match=f"{expected} `pip install --upgrade workbell`"):
                verb()
    with version.here():
        works(sql_store_url)


def test_a_newer_schema_that_this_version_can_read_works(sql_store_url: str, tmp_path: Path) -> None:
    migrated_by(next_version(tmp_path / "next"), sql_store_url)
    works(sql_store_url)
    with closing(opened(sql_store_url)) as store:
        with pytest.raises(SchemaMismatch, match="upgrade"):
            store.migrate()
        assert versions(store)["schema_version"] == str(NUMBER)


def test_every_store_has_an_identity_of_its_own(empty_sqlite_url: str, postgres_url: str) -> None:
    found = set()
    for url in (empty_sqlite_url, postgres_url):
        with closing(opened(url)) as store:
            store.check()
            found.add(versions(store)["store_id"])
    assert len(found) == 2
