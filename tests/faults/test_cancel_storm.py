"""A storm of cancels among kills, stops, raises and renewals: no run starts again after its cancel was acknowledged."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.fleet import Fleet, Supervisor
from tests.support.waiting import until
from workbell import Run, Status, Workbell
from workbell.model.run import FINAL, LIVE

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
RUNS = 4_000 if SOAK else 120
LIMIT = 1800 if SOAK else 110
WORKERS, CONCURRENCY = 3, 6
DISTURB_EVERY = 10  # cancels
TOLD = 5.0  # seconds: 0.05, on a machine that is not busy

DISTURBANCES = {"kill a worker": signal.SIGKILL, "stop a worker": signal.SIGTERM, "replace all workers": signal.SIGHUP}


@pytest.mark.timeout(LIMIT)
def test_no_run_starts_again_after_its_cancel(tmp_path: Path, sql_store_url: str) -> None:
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    chance = random.Random(seed)
    with (
        Fleet(tmp_path, sql_store_url, LEASE="3", GRACE="0.2", LOG_LEVEL="error") as site,
        Workbell(sql_store_url) as bell,
    ):
        bell.store.check()
        fleet = site.supervise("worker", "--processes", str(WORKERS), "--concurrency", str(CONCURRENCY))
        site.await_workers(fleet, WORKERS)
        runs: list[Run] = []
        asked: dict[str, int] = {}
        statuses, losses = Counter[str](), 0
        # On a busy machine, cancels come too late for most runs: then there are more of them.
        while statuses["canceled"] < RUNS // 4 or not losses:
            numbers = range(len(runs), len(runs) + RUNS)
            jobs = [("storms" if number % 2 else "astorms", {"number": number}) for number in numbers]
            runs += bell.enqueue_many(jobs)
            asked |= cancel_all(bell, site, fleet, chance)
            until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", LIMIT - 20)
            ended = bell.store.runs.find([run.id for run in runs])
            assert len(ended) == len(runs)
            statuses = Counter(ended[run_id].status.value for run_id in asked)
            losses = sum(run.losses > 0 for run in ended.values())
        starts = Counter[str]()
        for start in site.starts():
            starts[start["run"]] = max(starts[start["run"]], start["attempt"])
        for run_id, attempt in asked.items():
            assert starts[run_id] <= attempt, f"run {run_id} was started again after its cancel: {ended[run_id]}"
            assert ended[run_id].status in FINAL
            if ended[run_id].status is Status.CANCELED:
                assert ended[run_id].reason == "stormy"
    print(f"{len(asked)} cancels of running runs: {dict(statuses)}; runs that lost a worker: {losses}")


@pytest.mark.timeout(LIMIT)
def test_a_cancel_that_was_answered_is_true(tmp_path: Path, sql_store_url: str) -> None:
    """Workers hold many claimed runs that have not begun. A run that was answered as canceled never begins; of one
    whose end was asked for, a handler begins only if its worker could not be told in time."""
    rounds = 20 if SOAK else 2
    with (
        Fleet(tmp_path, sql_store_url, LEASE="30", LOG_LEVEL="error") as site,
        Workbell(sql_store_url) as bell,
    ):
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "2", "--concurrency", "2")
        site.await_workers(fleet, 2)
        answers: dict[str, tuple[Run, float]] = {}
        for _ in range(rounds):
            runs = bell.enqueue_many([("naps", {})] * 600)
            random.shuffle(runs)
            for run in runs[:200]:
                answer: Run = bell.cancel(run.id, "stormy")
                answers[run.id] = (answer, time.monotonic())
            until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", LIMIT - 20)
        begun = {event["run"]: event["monotonic"] for event in site.starts()}
        ended = bell.store.runs.find(list(answers))
        late: list[float] = []
        statuses = Counter[str]()
        for run_id, (answer, moment) in answers.items():
            statuses[f"{answer.status}, then {ended[run_id].status}"] += 1
            if answer.status is Status.CANCELED:
                assert run_id not in begun, f"answered as canceled, and begun: {answer}"
                assert ended[run_id].started_at is None
            elif answer.status is Status.RUNNING:
                assert answer.cancel_requested
                if ended[run_id].status is Status.CANCELED:
                    assert (run_id in begun) == (ended[run_id].started_at is not None)
                if begun.get(run_id, 0.0) > moment:
                    late.append(begun[run_id] - moment)
        print(f"{dict(statuses)}; begun after the answer: {len(late)}, the last {max(late, default=0):.2f} s later")
        assert statuses["canceled, then canceled"] > 0
        assert max(late, default=0) < TOLD, "begun long after the cancel was answered"


def cancel_all(bell: Workbell, site: Fleet, fleet: Supervisor, chance: random.Random) -> dict[str, int]:
    """Cancel running runs until none is left; the attempts that they were in when that was acknowledged."""
    asked: dict[str, int] = {}
    tried: set[str] = set()
    while bell.runs(status=LIVE, limit=1):
        running = [run for run in bell.runs(status=[Status.RUNNING], limit=200) if run.id not in tried]
        for run in chance.sample(running, min(len(running), 5)):
            tried.add(run.id)
            answer: Run = bell.cancel(run.id, "stormy")
            if answer.status is Status.RUNNING:
                assert answer.cancel_requested
                asked[run.id] = answer.attempt
            if len(tried) % DISTURB_EVERY == 0:
                disturb(site, fleet, chance)
    return asked


def disturb(site: Fleet, fleet: Supervisor, chance: random.Random) -> None:
    word = chance.choice(list(DISTURBANCES))
    children = site.children_of(fleet)
    target = fleet.pid if word == "replace all workers" else chance.choice(children) if children else None
    if target is not None:
        with suppress(ProcessLookupError):
            os.kill(target, DISTURBANCES[word])
