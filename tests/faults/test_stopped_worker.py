"""SIGSTOP of one worker for three leases: the keeper keeps nothing for it, its late result is not taken (D6, F1)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.fleet import Fleet, stop
from tests.support.processes import file_of, freeze_pid, state
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Status, Workbell
from workbell.errors import StoreUnavailable
from workbell.stores.sqlite.lock_holders import can_read_locks
from workbell.workers.supervisor import HINDERS

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
            assert (held.status, held.attempt, held.losses) == (Status.RUNNING, 2, 1)
        site.open_gate("gate")
        for run in runs:
            ended = bell.wait(run.id, timeout=30)
            assert (ended.status, ended.result) == (Status.SUCCEEDED, {"token": held.token, "attempt": 2})
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


@pytest.mark.timeout(110)
def test_a_worker_that_is_stopped_inside_a_write(tmp_path: Path, sqlite_url: str) -> None:
    """On SQLite nobody can write meanwhile (P7): the supervisor says so, and ends it; the others go on within 10 s.

    Without the kernel's list of locks it cannot know who it is, and lets it be until it goes on.
    """
    with Fleet(tmp_path, sqlite_url, LEASE="30") as site, Workbell(sqlite_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.job(name="stops_in_a_write")(lambda file: None)
        bell.store.check()
        supervisor = site.supervise("worker", "--processes", "2")
        workers = site.await_workers(supervisor, 2)
        file = file_of(sqlite_url)
        run = bell.enqueue("stops_in_a_write", {"file": str(file)})
        site.recorder.acknowledged([run])
        stopped: int = site.await_start(run.id)["pid"]
        until(lambda: state(stopped) == "T", "it to stop")
        if not can_read_locks():
            until(lambda: f"(process {stopped}) is stopped (state T)" in site.logged(), "the supervisor to say so", 30)
            with pytest.raises(StoreUnavailable, match="held the write lock for over 10 s"):
                bell.enqueue("quick_async")
            os.kill(stopped, signal.SIGCONT)
            assert bell.wait(run.id, timeout=60).status is Status.SUCCEEDED
            assert site.await_workers(supervisor, 2) == workers
            return
        began = time.monotonic()
        other = bell.enqueue("quick_async")  # waits for its turn at writing
        site.recorder.acknowledged([other])
        assert bell.wait(other.id, timeout=30).status is Status.SUCCEEDED
        assert time.monotonic() - began < 10
        logged = site.logged()
        assert f"(process {stopped}) is stopped (state T)" in logged
        assert f"kill -CONT {stopped}" in logged
        ended = bell.wait(run.id, timeout=30)
        assert (ended.status, ended.attempt, ended.losses, ended.crashes, ended.suspect) == (
            Status.SUCCEEDED,
            2,
            1,
            0,
            False,
        )
        now = site.await_workers(supervisor, 2)
        assert stopped not in now
        assert len({*workers, *now}) == 3
        assert stop(supervisor) == 0
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.timeout(110)
def test_a_stopped_worker_that_is_in_nobodys_way_is_let_be(tmp_path: Path, sqlite_url: str) -> None:
    """Whoever stopped it may want to look at it; the supervisor says how it is, and that it goes on."""
    with Fleet(tmp_path, sqlite_url) as site, Workbell(sqlite_url) as bell:
        bell.store.check()
        supervisor = site.supervise("worker", "--processes", "1")
        (worker,) = site.await_workers(supervisor, 1)
        freeze_pid(worker, file_of(sqlite_url))
        until(lambda: f"(process {worker}) is stopped (state T)" in site.logged(), "the supervisor to say so", 30)
        time.sleep(0 if not os.environ.get("WORKBELL_SOAK") else 2 * HINDERS)
        os.kill(worker, signal.SIGCONT)
        until(lambda: f"(process {worker}) goes on" in site.logged(), "the supervisor to say so", 30)
        assert site.children_of(supervisor) == [worker]
        assert stop(supervisor) == 0


def told_of_loss(site: Fleet, run_id: str) -> bool:
    return any("its lease was lost" in line and run_id in line for line in site.logged().splitlines())
