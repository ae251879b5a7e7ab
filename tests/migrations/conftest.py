"""Stores of each engine: without tables, and with those of this version."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest) -> str:
    """A store that has no tables yet."""
    url: str = request.getfixturevalue(f"empty_{request.param}_url")
    return url
