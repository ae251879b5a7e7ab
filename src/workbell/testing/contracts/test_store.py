"""The contract of a store, on the store of a URL: `pytest --pyargs workbell.testing.contracts --workbell-store URL`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import NoReturn
from uuid import uuid4

import pytest

from workbell.errors import WorkbellError
from workbell.settings import safe_url
from workbell.stores.opening import open_store
from workbell.stores.port import Store
from workbell.testing.contracts.store import StoreContract

NEW = "{new}"  # in the URL: another word for each test


class TestStore(StoreContract):
    @pytest.fixture
    def store(
        self,
        request: pytest.FixtureRequest,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Iterator[Store]:
        """An empty store for each test; a file with a relative name lies in a folder that is removed."""
        folder = tmp_path_factory.mktemp("workbell-contract")
        monkeypatch.chdir(folder)
        store = _open(request.config.getoption("workbell_store"))
        yield store
        store.close()
        monkeypatch.undo()
        shutil.rmtree(folder, ignore_errors=True)


def _open(url: str | None) -> Store:
    if not url:
        _end("No store is named to test: give --workbell-store URL, such as 'mydb://host/test_{new}'.")
    try:
        store = open_store(url.replace(NEW, uuid4().hex))
        store.check()
    except WorkbellError as error:
        _end(str(error))
    if any(any(page) for page in store.export()):  # it may be one that somebody uses
        store.close()
        _end(f"{safe_url(url)} is not empty; put {NEW} into the URL, so that each test has a store of its own.")
    return store


def _end(why: str) -> NoReturn:
    """End the whole run: the next test would say the same."""
    pytest.exit(why, returncode=pytest.ExitCode.USAGE_ERROR)
