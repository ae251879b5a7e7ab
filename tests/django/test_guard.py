"""The test kit's guard of the real store, on databases of Django."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.django_site import database, databases
from workbell.django.database import DjangoDatabase
from workbell.settings import Settings
from workbell.stores.sql_store import SqlStore
from workbell.testing.guard import RealStoreTouched, StoreGuard

STORE = SqlStore(DjangoDatabase("default"), Settings().keep)


@pytest.mark.parametrize(
    ("name", "test"),
    [
        (":memory:", {}),
        ("file:memorydb_default?mode=memory&cache=shared", {}),
        ("/srv/test_shop.sqlite3", {}),
        ("/srv/of-tests.sqlite3", {"NAME": "/srv/of-tests.sqlite3"}),
    ],
)
def test_databases_of_a_test_runner_are_safe(name: str, test: dict[str, Any]) -> None:
    with databases(default=database(f"sqlite:///{name}") | {"TEST": test}):
        assert StoreGuard().is_safe(STORE)


def test_the_database_of_the_application_is_refused_by_its_name_in_the_settings(tmp_path: Path) -> None:
    with databases(default=database(f"sqlite:///{tmp_path / 'shop.sqlite3'}") | {"TEST": {"NAME": None}}):
        guard = StoreGuard()
        assert not guard.is_safe(STORE)
        with pytest.raises(RealStoreTouched, match=r"the store DATABASES\['default'\], .*; use a TestCase of Django"):
            guard.refuse(STORE, "sqlite:///django.db")
