"""PostgreSQL stands still for two leases: afterwards no process hangs, work goes on, and nothing is lost (P1, P3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.fleet import Fleet, await_gone, stop
from tests.support.postgres import PostgresServer
from tests.support.waiting import until
from tests.support.worker_app import declare, mixed
from workbell import Status, Workbell
from workbell.model.run import LIVE

LEASE = 2.0
WORKERS = 2
RUNS = 200


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One that belongs to this test alone."""
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.remove()


@pytest.mark.timeout(110)
def test_a_database_that_stands_still(tmp_path: Path, server: PostgresServer) -> None:
    url = server.create_database()
    with Fleet(tmp_path, url, LEASE=str(LEASE)) as site, Workbell(url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("start", "--processes", str(WORKERS))
        site.await_workers(fleet, WORKERS)
        held = [bell.enqueue(job, {"gate": "gate"}) for job in ("held_async", "held_plain") * 2]
        site.recorder.acknowledged(held)
        holders = {site.await_start(run.id)["pid"] for run in held}
        site.recorder.acknowledged(bell.enqueue_many(mixed(RUNS)))
        begun = len(site.starts()) + RUNS // 4
        until(lambda: len(site.starts()) >= begun, "the work to be under way", 60)

        server.pause()
        try:
            frozen_at = time.monotonic()
            until(lambda: time.monotonic() >= frozen_at + 2 * LEASE, "two leases to pass")
            await_gone(holders)  # a handler in a thread can be stopped in no other way, and its lease is over
        finally:
            server.resume()
        back_at = time.monotonic()
        site.open_gate("gate")
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 60)

        # Everybody is there and has a hand in what comes now: those who waited, or others in their places.
        workers = site.await_workers(fleet, WORKERS)
        site.await_workers(fleet, 1, "server")
        assert len(site.children_of(fleet, "keeper")) == 1
        print(f"seconds until all was done: {time.monotonic() - back_at:.2f}")
        rest = RUNS

        def all_at_work() -> bool:
            nonlocal rest
            more = mixed(20, rest)
            rest += len(more)
            site.recorder.acknowledged(bell.enqueue_many(more))
            return set(workers) <= {start["pid"] for start in site.starts() if start["monotonic"] > back_at}

        until(all_at_work, "every worker to take part", 60)
        until(lambda: not bell.runs(status=LIVE, limit=1), "the rest to end", 60)
        assert stop(fleet) == 0

        violations = check(bell.store, site.events())
        assert not violations, report(violations)
        ended = snapshot(bell.store).by_id().values()
        assert len(ended) == len(held) + rest
        assert {run.status for run in ended} == {Status.SUCCEEDED}
        assert {run.crashes for run in ended} == {0}
