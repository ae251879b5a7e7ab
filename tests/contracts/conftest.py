"""The contract holds for every kind of store: the memory store too, which judges the others in tests/property."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    if request.param == "memory":
        return "memory://"
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url
