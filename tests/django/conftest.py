"""The test site on each kind of database, with Workbell's tables made by the migration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from tests.support.django_site import database, databases
from workbell.django import bells


@pytest.fixture(params=["memory", "postgres"])
def site(request: pytest.FixtureRequest) -> Iterator[str]:
    """SQLite in memory, as in Django's own tests, and PostgreSQL."""
    yield from on_database(request, request.param)


@pytest.fixture(params=["sqlite", "postgres"])
def shared_site(request: pytest.FixtureRequest) -> Iterator[str]:
    """Databases that other connections reach."""
    yield from on_database(request, request.param)


@pytest.fixture
def memory_site(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from on_database(request, "memory")


def on_database(request: pytest.FixtureRequest, kind: str) -> Iterator[str]:
    url = "sqlite:///:memory:" if kind == "memory" else request.getfixturevalue(f"{kind}_url")
    with databases(default=database(url), other=database("sqlite:///:memory:")):
        call_command("migrate", "workbell", verbosity=0)
        try:
            yield kind
        finally:
            bells.close_all()


@pytest.fixture(autouse=True)
def calls() -> list[Any]:
    """Calls that the tasks have noted."""
    from tests.django import tasks

    tasks.calls.clear()
    return tasks.calls
