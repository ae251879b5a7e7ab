"""One Redis for each process of the tests; every test has stores of its own, and so keys of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.remove()


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """One for a test that kills it."""
    server = RedisServer().start()
    yield server
    server.remove()
