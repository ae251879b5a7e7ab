"""A handler that holds the interpreter lock for several leases keeps its run: the keeper renews them (F1)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.fleet import Fleet
from tests.support.processes import file_of
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Status, Workbell
from workbell.model.run import LIVE

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
LEASE = 3.0  # longer than a busy machine may leave a process, or its database, alone
HELD = (10 if SOAK else 3) * LEASE


@pytest.mark.timeout(110)
def test_a_handler_that_lets_nobody_else_run(tmp_path: Path, sql_store_url: str) -> None:
    with Fleet(tmp_path, sql_store_url, LEASE=str(LEASE)) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        first = site.supervise("worker", "--processes", "1", "--concurrency", "1")
        (holder,) = site.await_workers(first, 1)
        # A rush of short runs makes the worker claim ahead; then its only thread is held, and all others with it.
        file = file_of(sql_store_url)
        short = ("holds", {"seconds": 0})
        long = ("holds", {"seconds": HELD, "file": None if file is None else str(file)})
        runs = bell.enqueue_many([*[short] * 400, long, *[short] * 40])
        site.recorder.acknowledged(runs)
        held, behind = runs[400], {run.id for run in runs[401:]}
        site.await_start(held.id)
        ahead = {run.id for run in bell.runs(status="running", limit=100)} & behind
        assert ahead, "none was claimed ahead: the test proves nothing"

        # Another one stands by, and would take whatever is free.
        second = site.supervise("worker", "--processes", "1")
        (taker,) = site.await_workers(second, 1)
        fresh = bell.enqueue("quick_plain", {})
        site.recorder.acknowledged([fresh])
        assert site.await_start(fresh.id)["pid"] == taker

        site.open_gate("hold")
        site.await_event("holding")
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 60)
        ended = bell.get(held.id)
        assert (ended.status, ended.attempt, ended.losses) == (Status.SUCCEEDED, 1, 0)
        assert [(event["pid"], event["token"]) for event in site.starts(held.id)] == [(holder, ended.token)]
        # Those behind it may have been handed back to be started elsewhere; none was lost, or started twice.
        assert {(run.attempt, run.losses) for run in bell.store.runs.find(behind).values()} == {(1, 0)}
        assert all(len(site.starts(run_id)) == 1 for run_id in behind)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)
