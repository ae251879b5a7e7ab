"""Schema versions: set up on first use, refused with the command that mends it, shared by old and new code."""

from __future__ import annotations

import pytest

from workbell.app import open_store
from workbell.errors import SchemaMismatch
from workbell.stores import migrate
from workbell.stores.queries import migrations
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import add, claim, request


@pytest.fixture(params=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest) -> str:
    """A store that has no tables yet."""
    url: str = request.getfixturevalue(f"empty_{request.param}_url")
    return url


def opened(url: str) -> SqlStore:
    store = open_store(url)
    assert isinstance(store, SqlStore)
    return store


def note(url: str, **values: int) -> None:
    """Make a store say that it has another schema."""
    store = opened(url)
    text = "UPDATE workbell_meta SET value = :value WHERE name = :name"
    for name, value in values.items():
        store.database.run_write(
            lambda session, given={"name": name, "value": str(value)}: session.text_rows(text, given)
        )
    store.close()


def versions(store: SqlStore) -> dict[str, str]:
    rows = store.database.run_read(lambda session: session.text_rows("SELECT name, value FROM workbell_meta", {}))
    return {row[0]: row[1] for row in rows}


def test_a_new_store_is_set_up_on_first_use(new_url: str) -> None:
    store = opened(new_url)
    store.check()
    add(store, request())
    assert len(claim(store)) == 1
    found = versions(store)
    assert found["schema_version"] == str(migrate.NEWEST)
    assert found["oldest_reader"] == str(migrate.OLDEST_READER)
    assert found["store_id"]
    store.close()


def test_migrating_says_what_ran_and_does_nothing_twice(new_url: str) -> None:
    store = opened(new_url)
    assert store.migrate() == [name for _, name, _ in migrations(store.engine)]
    before = versions(store)
    (run,) = add(store, request())
    assert store.migrate() == []
    assert versions(store) == before
    assert set(store.runs.find([run.id])) == {run.id}
    store.close()


def test_the_newest_migration_is_the_one_the_code_knows() -> None:
    for engine in ("sqlite", "postgres"):
        assert [number for number, _, _ in migrations(engine)] == list(range(1, migrate.NEWEST + 1))
    assert 1 <= migrate.OLDEST <= migrate.NEWEST
    assert migrate.OLDEST_READER <= migrate.NEWEST


def test_an_older_schema_names_the_command(sql_store_url: str) -> None:
    opened_once(sql_store_url)
    note(sql_store_url, schema_version=migrate.OLDEST - 1)
    store = opened(sql_store_url)
    expected = rf"has schema {migrate.OLDEST - 1} .*at least {migrate.OLDEST}.*workbell migrate"
    with pytest.raises(SchemaMismatch, match=expected) as caught:
        store.check()
    assert caught.value.exit_code == 78
    store.close()


def test_a_newer_schema_names_the_upgrade(sql_store_url: str) -> None:
    opened_once(sql_store_url)
    note(sql_store_url, schema_version=migrate.NEWEST + 7, oldest_reader=migrate.NEWEST + 1)
    store = opened(sql_store_url)
    with pytest.raises(SchemaMismatch, match=rf"has schema {migrate.NEWEST + 7}.*pip install --upgrade workbell"):
        store.check()
    with pytest.raises(SchemaMismatch, match="upgrade"):
        store.migrate()
    store.close()


def test_a_newer_schema_that_old_code_can_read_works(sql_store_url: str) -> None:
    """Old and new processes run side by side during a deploy."""
    opened_once(sql_store_url)
    note(sql_store_url, schema_version=migrate.NEWEST + 7, oldest_reader=migrate.NEWEST)
    store = opened(sql_store_url)
    store.check()
    add(store, request())
    assert len(claim(store)) == 1
    with pytest.raises(SchemaMismatch, match="upgrade"):
        store.migrate()
    assert versions(store)["schema_version"] == str(migrate.NEWEST + 7)
    store.close()


def opened_once(url: str) -> None:
    store = opened(url)
    store.check()
    store.close()


def test_every_store_has_an_identity_of_its_own(empty_sqlite_url: str, postgres_url: str) -> None:
    found = set()
    for url in (empty_sqlite_url, postgres_url):
        store = opened(url)
        store.check()
        found.add(versions(store)["store_id"])
        store.close()
    assert len(found) == 2
