"""One miniflare for each process of the tests, and stores in databases of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cloudflare.miniflare import TOKEN, Miniflare, open_d1
from workbell.stores.d1.bridge_calls import TOKEN as VARIABLE
from workbell.stores.sql_store import SqlStore


@pytest.fixture(scope="session")
def miniflare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Miniflare]:
    server = Miniflare(tmp_path_factory.mktemp("miniflare"))
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)


@pytest.fixture
def address(miniflare: Miniflare) -> str:
    return miniflare.address()


@pytest.fixture
def url(address: str) -> str:
    return f"d1+{address}"


@pytest.fixture
def store(address: str) -> Iterator[SqlStore]:
    store = open_d1(address)
    store.check()
    yield store
    store.close()
