"""SIGTERM to a supervisor in the middle of a load: it ends in time, nothing is spent, another takes over (A9, B2)."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.fleet import Fleet, Supervisor, await_gone, family
from tests.support.processes import file_of
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Run, Status, Workbell
from workbell.model.run import LIVE

GRACE = 1.0
SLACK = 10.0  # seconds beyond the grace: two are allowed for, the rest is for a machine that is busy with other tests
LOAD = 600


def stop_measured(supervisor: Supervisor) -> float:
    began = time.monotonic()
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(60) == 0
    return time.monotonic() - began


@pytest.mark.timeout(110)
def test_stopped_under_load(tmp_path: Path, sql_store_url: str, record_property: Callable[[str, object], None]) -> None:
    """With leases of a minute: whatever another one starts has been handed back."""
    with Fleet(tmp_path, sql_store_url, GRACE=str(GRACE), LEASE="60") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        first = site.supervise("worker", "--processes", "2", "--concurrency", "4")
        stopping = set(site.await_workers(first, 2))
        held = [bell.enqueue(job, {"gate": "gate"}) for job in ("held_async", "held_plain") * 2]
        site.recorder.acknowledged(held)
        for run in held:
            assert site.await_start(run.id)["pid"] in stopping
        second = site.supervise("worker", "--processes", "1", "--concurrency", "20")
        (taker,) = site.await_workers(second, 1)
        begun = len(site.starts())
        short = bell.enqueue_many([("short_plain", {"number": number}) for number in range(LOAD)])
        site.recorder.acknowledged(short)
        until(lambda: len(site.starts()) >= begun + LOAD // 10, "the load to be under way")

        children = family(first.pid)
        seconds = stop_measured(first)
        assert seconds < GRACE + SLACK
        await_gone(children)
        hand_over = []
        for run in held:
            again = site.await_start(run.id, 2)
            assert again["pid"] == taker
            (released,) = [row for row in bell.attempts(run.id) if row.number == 1]
            assert released.status.value == "released"
            hand_over.append(again["at"] - released.finished_at.timestamp())
        figures = {"seconds to stop": seconds - GRACE, "seconds until another has started": max(hand_over)}
        for name, figure in figures.items():
            print(f"{name}: {figure:.2f}")
            record_property(name, round(figure, 2))

        site.open_gate("gate")
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 60)
        ended = snapshot(bell.store).by_id()
        assert len(ended) == len(held) + LOAD
        assert {(run.status, run.failures, run.losses) for run in ended.values()} == {(Status.SUCCEEDED, 0, 0)}
        assert {ended[run.id].attempt for run in held} == {2}
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.timeout(110)
def test_a_second_signal_forces(tmp_path: Path, sqlite_url: str) -> None:
    with Fleet(tmp_path, sqlite_url, GRACE="3600", LEASE="60") as site, Workbell(sqlite_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "2")
        site.await_workers(fleet, 2)
        held = [bell.enqueue(job, {"gate": "gate"}) for job in ("held_async", "held_plain")]
        site.recorder.acknowledged(held)
        for run in held:
            site.await_start(run.id)
        children = family(fleet.pid)
        fleet.send_signal(signal.SIGTERM)
        site.await_event("stopping")  # two signals that are both still pending would be one
        print(f"seconds to stop at once: {stop_measured(fleet):.2f}")
        await_gone(children)
        assert_handed_back(bell, held)
        violations = check(bell.store, site.events(), settled=False)
        assert not violations, report(violations)


@pytest.mark.timeout(110)
def test_handlers_that_cannot_be_stopped(tmp_path: Path, sql_store_url: str) -> None:
    """One keeps the interpreter to itself, one the event loop: their processes are killed, and the runs handed back."""
    with Fleet(tmp_path, sql_store_url, GRACE="0.5", LEASE="60") as site, Workbell(sql_store_url) as bell:
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "2", "--concurrency", "1")
        site.await_workers(fleet, 2)
        site.open_gate("hold")
        file = file_of(sql_store_url)
        deaf = bell.enqueue("holds", {"seconds": 3600, "file": None if file is None else str(file)})
        site.await_event("holding")
        blocked = bell.enqueue("blocks", {})
        site.recorder.acknowledged([deaf, blocked])
        site.await_start(blocked.id)
        seconds = stop_measured(fleet)
        print(f"seconds to stop, with the grace: {seconds:.2f}")
        assert seconds < 0.5 + SLACK
        assert_handed_back(bell, [deaf, blocked])
        violations = check(bell.store, site.events(), settled=False)
        assert not violations, report(violations)


def assert_handed_back(bell: Workbell, runs: list[Run]) -> None:
    """Begun once, and nothing is spent."""
    for run in runs:
        back = bell.get(run.id)
        assert (back.status, back.attempt, back.failures, back.losses) == (Status.QUEUED, 1, 0, 0)
        assert not back.suspect
        assert [attempt.status.value for attempt in bell.attempts(run.id)] == ["released"]
