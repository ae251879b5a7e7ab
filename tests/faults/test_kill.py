"""kill -9 at random moments: every run ends exactly once, none is lost, and no stale write is taken (D6, F1)."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.processes import Site, kill
from tests.support.waiting import until
from tests.support.worker_app import declare, mixed
from workbell import Workbell
from workbell.model.run import LIVE, AttemptStatus, Status

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
RUNS, KILLS = (10_000, 300) if SOAK else (480, 4)
ENQUEUER_KILLS = 60 if SOAK else 3
LIMIT = 1800 if SOAK else 110


def chance(request: pytest.FixtureRequest) -> random.Random:
    """The moments of the kills; the seed is shown when the test fails, and can be set to repeat it."""
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    return random.Random(f"{seed}{request.node.name}")


@pytest.mark.timeout(LIMIT)
def test_killed_workers(tmp_path: Path, sql_store_url: str, request: pytest.FixtureRequest) -> None:
    """Two processes share the store; one of them is killed again and again and started anew at once."""
    moments = chance(request)
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        workers = [site.worker(), site.worker()]
        for turn in range(KILLS):
            site.await_ready(*workers)
            site.recorder.acknowledged(bell.enqueue_many(mixed(RUNS // KILLS, turn * RUNS // KILLS)))
            victim = moments.randrange(2)
            # After so many starts: it is in the middle of work, wherever that may be.
            begun = len(site.starts()) + moments.randint(1, RUNS // KILLS // 2)
            until(lambda count=begun: len(site.starts()) >= count, f"{begun} starts", 60)
            kill(workers[victim])
            workers[victim] = site.worker()
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", LIMIT)
        for worker in workers:
            kill(worker)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)
        held = snapshot(bell.store)
        assert len(held.by_id()) == RUNS // KILLS * KILLS
        odd = [run for run in held.runs if run.status is not Status.SUCCEEDED]
        assert all(run.reason == "crashed" and run.crashes >= 3 for run in odd), odd[:3]
        lost = [attempt for attempt in held.attempts if attempt.status is AttemptStatus.LOST]
        assert lost, "no kill has hit a worker that held a run: the test proves nothing"


@pytest.mark.timeout(LIMIT)
def test_killed_enqueuers(tmp_path: Path, sql_store_url: str, request: pytest.FixtureRequest) -> None:
    """P1: whatever an enqueue has acknowledged is there, though the process was killed right after, or in the next."""
    moments = chance(request)
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        bell.store.check()
        for _ in range(ENQUEUER_KILLS):
            pair = [site.start("enqueue", "1000000") for _ in range(2)]
            for process in pair:
                wanted = moments.randint(1, 60)
                until(lambda p=process, n=wanted: acknowledgements(site, p.pid) >= n, "acknowledgements", 60)
                kill(process)
        violations = check(bell.store, site.events(), settled=False)
        assert not violations, report(violations)
        told = {run for event in site.events() for run in event["runs"]}
        assert len(told) >= ENQUEUER_KILLS
        # A group is written whole or not at all: the killed call may have happened, but never by half.
        numbers = [(run.job, run.input["number"]) for run in snapshot(bell.store).runs]
        groups = [number for job, number in numbers if job != "quick_async" or number % 4]
        assert len(groups) % 3 == 0


def acknowledgements(site: Site, pid: int) -> int:
    return sum(1 for event in site.events() if event["pid"] == pid)
