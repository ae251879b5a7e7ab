"""Fixture with an empty store for each contract test, of the URL in `--workbell-store`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from workbell.errors import WorkbellError
from workbell.model.job import TENANT
from workbell.settings import safe_url
from workbell.stores.missing_parts import lacks
from workbell.stores.opening import open_store
from workbell.stores.port import Filter, Store
from workbell.testing.contracts.by_url import NEW, end, renewed


class OnUrl:
    """Supplies the fixture `store`."""

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
        end("No store is named to test: give --workbell-store URL, such as 'mydb://host/test_{new}'.")
    try:
        store = open_store(renewed(url))
        store.check()
    except WorkbellError as error:
        end(str(error))
    if not _is_empty(store):  # it may be one that somebody uses
        store.close()
        end(f"{safe_url(url)} is not empty; put {NEW} into the URL, so that each test has a store of its own.")
    return store


def _is_empty(store: Store) -> bool:
    if not lacks(store, "export"):
        return not any(any(page) for page in store.export())
    schedules = store.schedules.list(TENANT, source=None, after="", limit=1)
    return not any((store.runs.list(Filter(None, limit=1)), schedules, store.jobs.list(TENANT)))
