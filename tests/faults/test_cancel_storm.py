"""A storm of cancels among kills, stops, raises and renewals: no run starts again after its cancel was acknowledged."""

from __future__ import annotations

import os
import random
import signal
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
            starts[start["run"]] = max(starts[start["run"]], start["token"])
        for run_id, token in asked.items():
            assert starts[run_id] <= token, f"run {run_id} was started again after its cancel: {ended[run_id]}"
            assert ended[run_id].status in FINAL
            if ended[run_id].status is Status.CANCELED:
                assert ended[run_id].reason == "stormy"
    print(f"{len(asked)} cancels of running runs: {dict(statuses)}; runs that lost a worker: {losses}")


def cancel_all(bell: Workbell, site: Fleet, fleet: Supervisor, chance: random.Random) -> dict[str, int]:
    """Cancel running runs until none is left; the tokens under which they ran when that was acknowledged."""
    asked: dict[str, int] = {}
    tried: set[str] = set()
    while bell.runs(status=LIVE, limit=1):
        running = [run for run in bell.runs(status=[Status.RUNNING], limit=200) if run.id not in tried]
        for run in chance.sample(running, min(len(running), 5)):
            tried.add(run.id)
            answer: Run = bell.cancel(run.id, "stormy")
            if answer.status is Status.RUNNING:
                assert answer.cancel_requested
                asked[run.id] = answer.token
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
