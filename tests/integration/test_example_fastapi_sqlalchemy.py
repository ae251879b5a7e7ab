"""The example of orders and runs in one transaction (`examples/fastapi_sqlalchemy`), on PostgreSQL with asyncpg."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.docs.pages import DOCS, ROOT, text_of
from tests.integration.connection_ways import with_driver

EXAMPLE = ROOT / "examples" / "fastapi_sqlalchemy"


@pytest.fixture
def its_tests(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The tests of the example, with an application on this database."""
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setenv("WORKBELL_URL", postgres_url)
    monkeypatch.setenv("SHOP_DATABASE", with_driver(postgres_url, "asyncpg"))
    tests = importlib.import_module("test_shop")
    yield tests
    tests.bell.close()
    del sys.modules["test_shop"], sys.modules["shop"]


def test_its_own_tests_pass_on_postgresql(its_tests: ModuleType) -> None:
    """F4: without an order there is no run, and a run finds its order."""
    its_tests.test_an_order_is_confirmed()
    its_tests.test_a_refused_order_leaves_no_run()


def test_the_page_shows_it() -> None:
    page = text_of(DOCS / "how-to" / "fastapi.md")
    assert [file.name for file in EXAMPLE.glob("*.py") if text_of(file).rstrip() not in page] == []
