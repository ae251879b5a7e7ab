"""SIGSTOP of one worker for three leases: the keeper keeps nothing for it, its late result is not taken (D6, F1)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.fleet import Fleet, stop
from tests.support.processes import file_of, freeze_pid
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Status, Workbell

LEASE = 1.0
JOBS = ("held_async", "held_plain")


@pytest.mark.timeout(110)
def test_a_stopped_worker_loses_its_runs_and_goes_on(tmp_path: Path, sql_store_url: str) -> None:
    with Fleet(tmp_path, sql_store_url, LEASE=str(LEASE)) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        first = site.supervise("worker", "--processes", "1")
        (stopped,) = site.await_workers(first, 1)
        runs = [bell.enqueue(job, {"gate": "gate"}) for job in JOBS]
        site.recorder.acknowledged(runs)
        for run in runs:
            assert site.await_start(run.id)["pid"] == stopped
        second = site.supervise("worker", "--processes", "1")
        (taker,) = site.await_workers(second, 1)

        freeze_pid(stopped, file_of(sql_store_url))
        frozen_at = time.monotonic()
        for run in runs:
            assert site.await_start(run.id, 2)["pid"] == taker
        until(lambda: time.monotonic() >= frozen_at + 3 * LEASE, "three leases to pass")
        site.open_gate("gate-1")  # for the first attempt: its handlers return as soon as it goes on
        os.kill(stopped, signal.SIGCONT)
        until(lambda: all(told_of_loss(site, run.id) for run in runs), "the stopped one to learn of its loss")
        for run in runs:  # what it returned was refused: the second one is still at work
            held = bell.get(run.id)
            assert (held.status, held.token, held.attempt, held.losses) == (Status.RUNNING, 2, 2, 1)
        site.open_gate("gate")
        for run in runs:
            ended = bell.wait(run.id, timeout=30)
            assert (ended.status, ended.result) == (Status.SUCCEEDED, {"token": 2, "attempt": 2})
            assert [attempt.status.value for attempt in bell.attempts(run.id)] == ["lost", "succeeded"]

        # Only the first is left, so what comes now can be done by nobody else; and it is the same process.
        assert stop(second) == 0
        fresh = [bell.enqueue(job, {"gate": "gate"}) for job in JOBS]
        site.recorder.acknowledged(fresh)
        for run in fresh:
            assert bell.wait(run.id, timeout=30).status is Status.SUCCEEDED
            assert site.await_start(run.id)["pid"] == stopped
        assert stop(first) == 0
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


def told_of_loss(site: Fleet, run_id: str) -> bool:
    return any("its lease was lost" in line and run_id in line for line in site.logged().splitlines())
