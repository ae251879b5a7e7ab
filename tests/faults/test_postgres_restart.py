"""PostgreSQL goes away and comes back: work goes on by itself, nothing is lost, nothing hangs for ever."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.support.checker import check, report
from tests.support.postgres import PostgresServer
from tests.support.processes import Site
from tests.support.waiting import insist, until
from tests.support.worker_app import declare, mixed
from workbell import Retry, StoreUnavailable, Workbell
from workbell.model.run import LIVE, Status
from workbell.settings import Settings
from workbell.stores.postgres import calls as calls_module

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
RESTARTS = 50 if SOAK else 2
STORMS = 100 if SOAK else 2
LIMIT = 1800 if SOAK else 110
EACH = 300 if SOAK else 120  # runs enqueued before each fault


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One that belongs to these tests alone."""
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.remove()


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    url = server.create_database()
    yield url
    server.drop_database(url)


def work_through(tmp_path: Path, url: str, faults: int, fault: Callable[[], None]) -> None:
    """Two workers in the middle of their work, a fault, and again; the same two processes must end it all."""
    with Site(tmp_path, url) as site, Workbell(url) as bell:
        declare(bell, site.recorder, site.gates)
        workers = [site.worker(), site.worker()]
        site.await_ready(*workers)
        for turn in range(faults):
            requests = mixed(EACH, turn * EACH)
            site.recorder.acknowledged(insist(lambda r=requests: bell.enqueue_many(r)))
            begun = len(site.starts()) + EACH // 4
            until(lambda count=begun: len(site.starts()) >= count, "the work to be under way", 60)
            fault()
        until(lambda: not insist(lambda: bell.runs(status=LIVE, limit=1)), "every run to end", LIMIT)
        assert [worker.poll() for worker in workers] == [None, None], site.logged()
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        assert [worker.wait(60) for worker in workers] == [0, 0]
        violations = check(bell.store, site.events())
        assert not violations, report(violations)
        # An enqueue that failed may have happened; one that was acknowledged has.
        acknowledged = {run for event in site.events() if event["kind"] == "acknowledged" for run in event["runs"]}
        assert len(acknowledged) == faults * EACH
        statuses = {run.status for run in bell.store.runs.find(acknowledged).values()}
        assert statuses == {Status.SUCCEEDED}


@pytest.mark.timeout(LIMIT + 10)
def test_restarted_as_in_a_crash(tmp_path: Path, server: PostgresServer, url: str) -> None:
    """P1, P3: `immediate` cuts every connection and recovers from the log."""
    work_through(tmp_path, url, RESTARTS, lambda: server.restart("immediate"))


@pytest.mark.timeout(LIMIT + 10)
def test_all_connections_terminated(tmp_path: Path, server: PostgresServer, url: str) -> None:
    def terminate() -> None:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'workbell'"
            )

    work_through(tmp_path, url, STORMS, terminate)


def backends(url: str) -> list[psutil.Process]:
    with psycopg.connect(url, autocommit=True) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'workbell' AND datname = current_database()"
        return [psutil.Process(row[0]) for row in connection.execute(query)]


def test_frozen_connection_is_cut_off(url: str, monkeypatch) -> None:
    """A server that accepts and never answers: the call ends with the deadline, and the next one works."""
    monkeypatch.setattr(calls_module, "DEADLINE", 1.0)
    with Workbell(url) as bell:

        @bell.job
        def work() -> None: ...

        first = work.enqueue()
        frozen = backends(url)
        assert frozen
        for process in frozen:
            process.suspend()
        try:
            with pytest.raises(StoreUnavailable, match="did not answer within 1 s"):
                bell.get(first.id)
            second = insist(work.enqueue)  # on a fresh connection, while the others are still frozen
            assert bell.get(second.id) == second
        finally:
            for process in frozen:
                process.resume()


@pytest.mark.anyio
async def test_engine_with_frozen_connections(url: str, monkeypatch) -> None:
    """Every connection that the engine has is frozen under it; it goes on with new ones."""
    monkeypatch.setattr(calls_module, "DEADLINE", 1.0)
    settings = Settings(url=url, lease=2, sweep=0.2, poll=0.05, grace=5)
    with Workbell(settings=settings) as bell:

        @bell.job(retry=Retry(attempts=5, delay=0))
        async def work(number: int) -> int:
            return number

        async with bell.running():
            warm = await work.aenqueue(0)
            await bell.await_(warm.id, timeout=30)
            frozen = backends(url)
            for process in frozen:
                process.suspend()
            try:
                with Workbell(url) as other:
                    requests = [("work", {"number": number}) for number in range(20)]
                    runs = other.enqueue_many(requests)
                    ended = [await other.await_(run.id, timeout=60) for run in runs]
            finally:
                for process in frozen:
                    process.resume()
            assert [run.result for run in ended] == list(range(20))
