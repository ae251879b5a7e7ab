"""The supervisor and its children: who is there, who is started anew, who is replaced, and how they all end (A9)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.fleet import Fleet, Supervisor, await_gone, family, stop
from tests.support.recorder import Event
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Status, Workbell
from workbell.errors import InvalidUrl, JobsError, StoreUnavailable, WorkbellError

KINDS = ("server", "worker", "keeper")


def census(site: Fleet, fleet: Supervisor) -> dict[str, list[int]]:
    return {kind: site.children_of(fleet, kind) for kind in KINDS}


def await_census(site: Fleet, fleet: Supervisor, workers: int) -> dict[str, list[int]]:
    """One server, one keeper, so many workers; all at work."""
    site.await_workers(fleet, workers)
    site.await_workers(fleet, 1, "server")
    until(lambda: len(site.children_of(fleet, "keeper")) == 1, "a keeper")
    return census(site, fleet)


def await_success(bell: Workbell, site: Fleet, job: str, input: dict[str, object]) -> int:
    """A run that goes well at the first attempt; the process that did it."""
    run = bell.enqueue(job, input)
    site.recorder.acknowledged([run])
    ended = bell.wait(run.id, timeout=30)
    assert (ended.status, ended.attempt) == (Status.SUCCEEDED, 1), ended
    pid: int = site.starts(run.id)[0]["pid"]
    return pid


@pytest.mark.timeout(110)
def test_the_life_of_a_fleet(tmp_path: Path, sql_store_url: str) -> None:
    """What ends is started anew, each kind by itself; SIGHUP replaces all; a worker's messages reach the server."""
    with Fleet(tmp_path, sql_store_url, LEASE="60", GRACE="60") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("start", "--processes", "2")
        there = await_census(site, fleet, 2)
        assert {kind: len(pids) for kind, pids in there.items()} == {"server": 1, "worker": 2, "keeper": 1}
        helpers = set(family(fleet.pid)) - {pid for pids in there.values() for pid in pids}
        assert len(helpers) <= 2, "besides them only what starts them, and what tidies up after it"

        # From a worker to whoever is connected to the server
        teller = await_success(bell, site, "tells", {"user": 7})
        assert teller in there["worker"]
        told = until(lambda: two_messages(site), "two messages")
        assert [(event["pid"], event["data"]) for event in told] == [
            (there["server"][0], {"hello": 7}),
            (there["server"][0], {"hello": "all"}),
        ]

        for kind in KINDS:
            victim = census(site, fleet)[kind][0]
            before = census(site, fleet)
            os.kill(victim, signal.SIGKILL)
            await_gone([victim])
            after = await_census(site, fleet, 2)
            for other in KINDS:
                changed = set(before[other]) ^ set(after[other])
                assert len(changed) == (2 if other == kind else 0), (kind, other)

        # A handler at work as its worker is to be replaced: it ends where it is
        held = [bell.enqueue(job, {"gate": "gate"}) for job in ("held_async", "held_plain")]
        site.recorder.acknowledged(held)
        holders = {site.await_start(run.id)["pid"] for run in held}
        before = census(site, fleet)
        fleet.send_signal(signal.SIGHUP)
        new = until(lambda: replaced(site, fleet, before), "others in the places of all", 60)
        assert await_success(bell, site, "quick_plain", {}) in new
        assert holders <= set(site.children_of(fleet)), "it has ended before its handler"
        site.open_gate("gate")
        for run in held:
            ended = bell.wait(run.id, timeout=30)
            assert (ended.status, ended.attempt) == (Status.SUCCEEDED, 1)
        await_gone([*before["worker"], *before["server"]])
        after = await_census(site, fleet, 2)
        assert set(after["worker"]) == new
        assert after["keeper"] == before["keeper"]

        assert stop(fleet) == 0
        await_gone(helpers)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


def two_messages(site: Fleet) -> list[Event]:
    told = [event for event in site.events() if event["kind"] == "message"]
    return told if len(told) >= 2 else []


def replaced(site: Fleet, fleet: Supervisor, before: dict[str, list[int]]) -> set[int]:
    """The new workers, once all are there and a new server with them."""
    server = set(site.ready(fleet, "server")) - set(before["server"])
    workers = set(site.ready(fleet)) - set(before["worker"])
    return workers if server and len(workers) == len(before["worker"]) else set()


@pytest.mark.timeout(110)
@pytest.mark.parametrize("limit", [("--max-runs", "20"), ("--max-memory", "1MB")])
def test_workers_wear_out(tmp_path: Path, sqlite_url: str, limit: tuple[str, str]) -> None:
    """No worker has so little memory: one after the other is replaced, and no run is the worse for it."""
    with Fleet(tmp_path, sqlite_url, LEASE="60") as site, Workbell(sqlite_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "1", *limit)
        seen: set[int] = set()

        def worn() -> bool:
            run = bell.enqueue_many([("quick_plain", {})] * 10)
            site.recorder.acknowledged(run)
            for one in run:
                ended = bell.wait(one.id, timeout=30)
                assert (ended.status, ended.attempt) == (Status.SUCCEEDED, 1), ended
            seen.update(event["pid"] for event in site.starts())
            return len(seen) >= 3

        until(worn, "the third worker", 60)
        assert stop(fleet) == 0
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.timeout(110)
def test_a_killed_supervisor_leaves_nobody_behind(tmp_path: Path, sqlite_url: str) -> None:
    with Fleet(tmp_path, sqlite_url, GRACE="1") as site, Workbell(sqlite_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("start", "--processes", "2", "--queues", "default")
        await_census(site, fleet, 2)
        held = [bell.enqueue(job, {"gate": "gate"}) for job in ("held_async", "held_plain")]
        elsewhere = bell.enqueue("quick_plain", {}, queue="elsewhere")  # which they do not work on
        for run in held:
            site.await_start(run.id)
        children = family(fleet.pid)
        fleet.kill()
        fleet.wait(30)
        await_gone(children)
        for run in held:  # handed back, as at any other stop
            back = bell.get(run.id)
            assert (back.status, back.failures, back.losses) == (Status.QUEUED, 0, 0)
        assert (bell.get(elsewhere.id).status, bell.get(elsewhere.id).token) == (Status.QUEUED, 0)


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        ("raise RuntimeError('on purpose')", "broken.py:1: RuntimeError: on purpose", JobsError),
        ("bell = 1 +", "broken.py:1: SyntaxError: ", JobsError),
        ("from workbell import Workbell\nbell = Workbell('nowhere://')", "broken.py:2: 'nowhere' names no", InvalidUrl),
        (
            "from workbell import Workbell\nbell = Workbell('sqlite:////no/file')",
            "/no does not exist",
            StoreUnavailable,
        ),
    ],
)
def test_a_broken_app(tmp_path: Path, sqlite_url: str, code: str, said: str, kind: type[WorkbellError]) -> None:
    """One line that says what and where, the exit code of the error, and nobody left. No address is told before it."""
    with Fleet(tmp_path, sqlite_url, LOG_LEVEL="info", HTTP="true", HTTP_PORT="0") as site:
        (site.gates / "broken.py").write_text(code)
        fleet = site.supervise("start", "--processes", "2", app="broken:bell")
        assert fleet.wait(60) == kind.exit_code
        until(lambda: not site.everybody(), "all to end")
        (line,) = site.logged().splitlines()
        assert said in line


BROKEN_START = """
from workbell import Workbell
bell = Workbell()

@bell.on_worker_start
def connects():
    raise ConnectionRefusedError("nobody listens")
"""


def test_a_start_that_fails(tmp_path: Path, sqlite_url: str) -> None:
    """`on_worker_start`: the first worker's error ends the fleet, as other errors of a start do."""
    with Fleet(tmp_path, sqlite_url, LOG_LEVEL="error") as site:
        (site.gates / "broken.py").write_text(BROKEN_START)
        fleet = site.supervise("worker", "--processes", "1", app="broken:bell")
        assert fleet.wait(60) == JobsError.exit_code
        until(lambda: not site.everybody(), "all to end")
        (line,) = site.logged().splitlines()
        assert "broken.py:5): ConnectionRefusedError: nobody listens" in line
