"""kill -9 of supervised workers: every run ends once, no run that stood beside is blamed, and work goes on (D6, F1)."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.fleet import Fleet, Supervisor
from tests.support.processes import file_of, freeze_pid
from tests.support.waiting import until
from tests.support.worker_app import declare, mixed
from workbell import Status, Workbell
from workbell.model.run import LIVE, AttemptStatus

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
RUNS, KILLS = (10_000, 300) if SOAK else (1_500, 15)
LIMIT = 1800 if SOAK else 110
WORKERS, CONCURRENCY = 4, 2
AFTERWARDS = 400  # runs that are there when the last worker has been killed


@pytest.mark.timeout(LIMIT)
def test_killed_workers(tmp_path: Path, sql_store_url: str, record_property: Callable[[str, object], None]) -> None:
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    chance = random.Random(seed)
    with Fleet(tmp_path, sql_store_url, LEASE="2", LOG_LEVEL="warning") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("worker", "--processes", str(WORKERS), "--concurrency", str(CONCURRENCY))
        site.await_workers(fleet, WORKERS)
        turns, leases = 0, set[tuple[str, int]]()
        # As often as is planned; and then, on a machine that claims little ahead, until a death has met such a claim.
        while turns < KILLS or (turns < 3 * KILLS and not claimed_ahead(bell, site, leases)):
            turn, turns = turns, turns + 1
            site.recorder.acknowledged(bell.enqueue_many(mixed(RUNS // KILLS, turn * RUNS // KILLS)))
            # After so many starts: somebody is in the middle of work, wherever that may be.
            begun = len(site.starts()) + chance.randint(1, RUNS // KILLS // 2)
            until(lambda count=begun: len(site.starts()) >= count, f"{begun} starts", 60)
            leases |= {(run.id, run.token) for run in bell.runs(status=[Status.RUNNING], limit=500)}
            kill_one(site, fleet, chance)

        killed_at = time.monotonic()
        site.recorder.acknowledged(bell.enqueue_many(mixed(AFTERWARDS, turns * RUNS // KILLS)))
        until(lambda: len(started_after(site, killed_at)) >= 100, "the work to go on", 60)
        site.await_workers(fleet, WORKERS)
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", LIMIT - 20)
        figures = {
            "seconds until 100 starts after the last kill": started_after(site, killed_at)[99] - killed_at,
            "seconds until all workers are back": max(ready_at(site, fleet)) - killed_at,
        }
        for name, seconds in figures.items():
            print(f"{name}: {seconds:.2f}")
            record_property(name, round(seconds, 2))

        violations = check(bell.store, site.events())
        assert not violations, report(violations)
        held = snapshot(bell.store)
        assert len(held.by_id()) == RUNS // KILLS * turns + AFTERWARDS
        lost = Counter(attempt.run for attempt in held.attempts if attempt.status is AttemptStatus.LOST)
        assert lost, "no kill has hit a worker that held a run: the test proves nothing"
        for run in held.runs:
            if run.status is not Status.SUCCEEDED:  # once as a suspect, and three times alone
                assert (run.status, run.reason, run.crashes) == (Status.FAILED, "crashed", 3), run
                assert lost[run.id] >= 3, run
        # Whoever stood in line behind them was claimed in vain, and nothing more is to be seen of it.
        assert len(blamed(site)) <= turns * 2 * CONCURRENCY
        assert claimed_ahead(bell, site, leases), "nothing was claimed ahead: the test proves nothing"


def claimed_ahead(bell: Workbell, site: Fleet, leases: set[tuple[str, int]]) -> bool:
    """Whether a run was claimed and given back before it began: a lease is over under which no handler was called."""
    found = bell.store.runs.find([run_id for run_id, _ in leases])
    over = {
        (run_id, token)
        for run_id, token in leases
        if (found[run_id].status, found[run_id].token) != (Status.RUNNING, token)
    }
    return not over <= {(event["run"], event["token"]) for event in site.starts()}


def kill_one(site: Fleet, fleet: Supervisor, chance: random.Random) -> None:
    """Any worker, at work or just being started; all may be dead at this moment."""
    while True:
        victim = chance.choice(until(lambda: site.children_of(fleet), "a worker", 30))
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue
        return


def started_after(site: Fleet, moment: float) -> list[float]:
    return [event["monotonic"] for event in site.starts() if event["monotonic"] > moment]


def ready_at(site: Fleet, fleet: Supervisor) -> list[float]:
    """When the workers that are there now came to be."""
    there = site.children_of(fleet)
    return [event["monotonic"] for event in site.events() if event["kind"] == "ready" and event["pid"] in there]


def blamed(site: Fleet) -> list[str]:
    """Runs of which the keeper said that they were at work as their worker died."""
    lines = [json.loads(line) for line in site.logged().splitlines() if "was being executed as its worker died" in line]
    return [line["run_id"] for line in lines]


def test_those_in_line_behind_a_death(tmp_path: Path, sql_store_url: str) -> None:
    """With leases of a minute: that they go back at once is the supervisor's doing, and none of them is marked."""
    with Fleet(tmp_path, sql_store_url, LEASE="60") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "1", "--concurrency", "1")
        (victim,) = site.await_workers(fleet, 1)
        # A rush of short runs makes the worker claim ahead; then its only thread is held.
        site.open_gate("open")
        runs = bell.enqueue_many([("held_plain", {"gate": "open"})] * 600 + [("held_plain", {"gate": "shut"})] * 40)
        site.recorder.acknowledged(runs)
        held, behind = runs[600], {run.id for run in runs[601:]}
        site.await_start(held.id)
        until(lambda: claimed(bell) & behind, "some to be claimed ahead")
        freeze_pid(victim, file_of(sql_store_url))
        ahead = claimed(bell) & behind
        bell.pause(queue="default")  # nobody claims while we look
        os.kill(victim, signal.SIGKILL)
        until(lambda: not bell.runs(status="running", limit=1), "everything to be given back")
        found = bell.store.runs.find([held.id, *ahead])
        assert (found[held.id].attempt, found[held.id].losses, found[held.id].suspect) == (1, 1, True)
        assert [attempt.status.value for attempt in bell.attempts(held.id)] == ["lost"]
        back = [found[run_id] for run_id in ahead]
        assert {(run.status, run.attempt, run.losses, run.suspect) for run in back} == {(Status.QUEUED, 0, 0, False)}
        assert all(run.token for run in back)
        assert not any(bell.attempts(run_id) for run_id in ahead)

        bell.resume(queue="default")
        site.open_gate("shut")
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 60)
        ended = bell.get(held.id)
        assert (ended.status, ended.attempt, ended.crashes) == (Status.SUCCEEDED, 2, 0)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


def claimed(bell: Workbell) -> set[str]:
    return {run.id for run in bell.runs(status="running", limit=100)}
