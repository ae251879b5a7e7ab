"""Faults with a Redis queue: workers and Redis itself are killed, its lists are emptied; no run is lost or doubled."""

from __future__ import annotations

import os
import random
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from tests.support.checker import check, report, snapshot
from tests.support.processes import Site, kill
from tests.support.redis_server import RedisServer
from tests.support.waiting import until
from tests.support.worker_app import declare, mixed
from workbell import Workbell
from workbell.model.run import LIVE, AttemptStatus, Status
from workbell.settings import POLL_WITH_QUEUE, Settings

KILLS = 50  # on each kind of store
EACH = 20  # runs between two kills
LIMIT = 300.0


def chance(request: pytest.FixtureRequest) -> random.Random:
    """The moments of the faults; the seed is shown when the test fails, and can be set to repeat it."""
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    return random.Random(f"{seed}{request.node.name}")


@pytest.mark.timeout(LIMIT)
def test_killed_workers_and_emptied_lists(
    tmp_path: Path, sql_store_url: str, own_redis: RedisServer, request: pytest.FixtureRequest
) -> None:
    """Three processes share store and queue; each turn one is killed, and every third turn all lists are emptied."""
    moments = chance(request)
    settings = Settings(url=sql_store_url, queue_url=own_redis.url())
    with (
        Site(tmp_path, sql_store_url, QUEUE_URL=own_redis.url(), POLL="1") as site,
        Workbell(settings=settings) as bell,
        redis.Redis(port=own_redis.port) as raw,
    ):
        declare(bell, site.recorder, site.gates)
        workers = [site.worker() for _ in range(3)]
        for turn in range(KILLS):
            site.await_ready(*workers)
            begun = len(site.starts()) + moments.randint(1, EACH // 2)
            site.recorder.acknowledged(bell.enqueue_many(mixed(EACH, turn * EACH)))
            if turn % 3 == 0:
                raw.flushall()
            victim = moments.randrange(3)
            until(lambda count=begun: len(site.starts()) >= count, f"{begun} starts", 60)
            kill(workers[victim])
            workers[victim] = site.worker()
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", LIMIT)
        for worker in workers:
            kill(worker)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)
        held = snapshot(bell.store)
        assert len(held.by_id()) == KILLS * EACH
        odd = [run for run in held.runs if run.status is not Status.SUCCEEDED]
        assert all(run.reason == "crashed" and run.crashes >= 3 for run in odd), odd[:3]
        lost = [attempt for attempt in held.attempts if attempt.status is AttemptStatus.LOST]
        assert lost, "no kill has hit a worker that held a run: the test proves nothing"


@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("fault", ["emptied", "killed"])
def test_a_fault_of_redis_costs_at_most_a_poll(
    fault: str, tmp_path: Path, sql_store_url: str, own_redis: RedisServer
) -> None:
    """Its lists are emptied twice a second, or it is killed and started again, while runs are enqueued."""
    settings = Settings(url=sql_store_url, queue_url=own_redis.url())
    with (
        Site(tmp_path, sql_store_url, QUEUE_URL=own_redis.url(), POLL=str(POLL_WITH_QUEUE)) as site,
        Workbell(settings=settings) as bell,
    ):
        declare(bell, site.recorder, site.gates)
        workers = [site.worker() for _ in range(2)]
        site.await_ready(*workers)
        over = threading.Event()

        def trouble() -> None:
            while not over.wait(0.5):
                if fault == "emptied":
                    with redis.Redis(port=own_redis.port) as raw:
                        raw.flushall()
                else:
                    own_redis.kill()
                    time.sleep(0.5)
                    own_redis.start()

        thread = threading.Thread(target=trouble)
        thread.start()
        try:
            for number in range(100):
                site.recorder.acknowledged([bell.enqueue("quick_async", {"number": number})])
                time.sleep(0.1)
        finally:
            over.set()
            thread.join()
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 30)
        for worker in workers:
            kill(worker)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)
        runs = snapshot(bell.store).runs
        assert len(runs) == 100
        latest = max(run.started_at - run.created_at for run in runs if run.started_at is not None)
        assert latest < timedelta(seconds=POLL_WITH_QUEUE + 1.5), latest
