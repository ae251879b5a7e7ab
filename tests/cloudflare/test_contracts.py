"""The contracts that we ship, on D1. Where D1 differs, a test says how; docs/how-to/cloudflare.md has the list."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cloudflare.miniflare import Miniflare, open_d1
from workbell.stores.database import Database
from workbell.stores.port import Store
from workbell.stores.queries import migrations
from workbell.testing.contracts.core import CoreContract
from workbell.testing.contracts.database import DatabaseContract
from workbell.testing.contracts.parts import PartsContract


def has_no_hints(store: Store | Database) -> None:
    watch = store.watch()
    assert not watch.wait(0.01)
    watch.close()


class TestCoreOnD1(CoreContract):
    def test_a_hint_reaches_a_watcher(self, store: Store) -> None:
        """D1 has no hints: workers poll, or have a queue beside it."""
        has_no_hints(store)


class TestPartsOnD1(PartsContract):
    def test_an_event_gives_a_hint(self, store: Store) -> None:
        has_no_hints(store)

    def test_new_ones_give_a_hint(self, store: Store) -> None:
        has_no_hints(store)


class TestDatabaseOnD1(DatabaseContract):
    @pytest.fixture
    def database(self, miniflare: Miniflare) -> Iterator[Database]:
        store = open_d1(miniflare.address(empty=True))
        yield store.database
        store.close()

    def test_a_write_is_hinted_at(self, database: Database) -> None:
        has_no_hints(database)

    def test_tables_are_made_once_by_many_at_once(self, database: Database) -> None:
        """Those who come at once share the batches, and nothing is done twice."""
        with ThreadPoolExecutor(4) as threads:
            done = [name for names in threads.map(lambda _: database.migrate(), range(4)) for name in names]
        assert sorted(done) == [name for _, name, _ in migrations("sqlite")]
        assert database.migrate() == []
