"""Two Workbells on one store, as two processes would be, and a clock that both have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Workbell
from workbell.model.clock import ManualClock
from workbell.settings import Settings
from workbell.stores.sqlite.store import SqliteStore


@pytest.fixture
def shared_store(clock: ManualClock) -> SqliteStore:
    return fresh_store(clock)


@pytest.fixture
def bell(shared_store: SqliteStore) -> Iterator[Workbell]:
    made = Workbell(store=shared_store, settings=Settings())
    yield made
    made.runtime.close()


@pytest.fixture
def elsewhere(shared_store: SqliteStore) -> Iterator[Workbell]:
    made = Workbell(store=shared_store, settings=Settings())
    yield made
    made.runtime.close()
