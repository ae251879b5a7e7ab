"""One server for the tests of a module, and people who are nobody else's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.inside.values import Settings
from tests.support.processes import Site
from tests.support.served import Served, served
from tests.support.waiting import until
from workbell import Workbell


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all; each test has people and tenants of its own."""
    settings = Settings(url=f"sqlite:///{tmp_path_factory.mktemp('sockets') / 'workbell.db'}", http_port=0)
    with Workbell(settings=settings) as bell:

        @bell.job
        def send(to: str) -> None: ...

        @bell.job
        def shout(first: int, last: int) -> None: ...

        @bell.job
        def whisper(user_id: int) -> None: ...

        with served(bell) as made:
            yield made


@pytest.fixture(scope="module")
def worker_elsewhere(shared: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A process of its own, with a Workbell of its own on the same file."""
    with Site(tmp_path_factory.mktemp("elsewhere"), shared.bell.settings.url) as site:
        site.start(program="shouting_app")
        yield


@pytest.fixture
def server(shared: Served) -> Iterator[Served]:
    yield shared
    shared.service.settings = shared.bell.settings
    until(lambda: not len(shared.service.hub), "everybody to be gone")
    until(lambda: not len(shared.service.hub.views), "every view to be forgotten")


@pytest.fixture
def person(request: pytest.FixtureRequest) -> int:
    """Nobody else's number."""
    return abs(hash(request.node.nodeid)) % 2**40
