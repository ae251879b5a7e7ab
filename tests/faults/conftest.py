"""Fixtures for the tests of faults: a Workbell with one job on a SQLite file, and where that file is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbell import Workbell
from workbell.app import open_store
from workbell.stores.port import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workbell.db"


@pytest.fixture
def bell(sqlite_url: str) -> Iterator[Workbell]:
    with Workbell(sqlite_url) as bell:

        @bell.job
        def work(number: int = 0) -> None: ...

        bell.store.check()
        yield bell


@pytest.fixture
def sql_stores(sql_store_url: str) -> Iterator[list[Store]]:
    """Three on one database, as if of three processes."""
    stores = [open_store(sql_store_url) for _ in range(3)]
    for store in stores:
        store.check()
    yield stores
    for store in stores:
        store.close()
