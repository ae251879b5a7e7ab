"""Fixtures for the tests of faults: single stores, a recorder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.recorder import Recorder
from workbell.app import open_store
from workbell.stores.port import Store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(tmp_path / "recording.jsonl")
    yield recorder
    recorder.close()


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[Store]:
    yield from _open(sqlite_url)


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[Store]:
    yield from _open(postgres_url)


def _open(url: str) -> Iterator[Store]:
    store = open_store(url)
    store.check()
    yield store
    store.close()
