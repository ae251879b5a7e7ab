"""Wall clocks that are put ahead or back by an hour, while runs are held: nothing executes twice, nothing stands still.

P4, P7, P13. Real processes with a small library that shifts their CLOCK_REALTIME alone. A clock is that of one worker,
of all of them, or of the PostgreSQL server. After the step a worker is killed, and another one is started.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.fleet import APP, Fleet, stop
from tests.support.postgres import PostgresServer
from tests.support.processes import PACKAGE, Process, Site, file_of, kill
from tests.support.shifted import WallClock
from tests.support.waiting import until
from tests.support.worker_app import declare, mixed
from workbell import Status, Workbell
from workbell.model.run import LIVE
from workbell.stores.sqlite.store import SqliteStore

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
LEASE = 2.0
SETTINGS = {"LEASE": str(LEASE), "SWEEP": "0.3", "POLL": "0.1"}
HOUR = 3600.0
EVERY = [
    (database, whose, step)
    for database, clocks in (("sqlite", ("one", "all")), ("postgres", ("server", "one", "all")))
    for whose in clocks
    for step in (HOUR, -HOUR)
]
SHORT = [("sqlite", "all", HOUR), ("postgres", "server", -HOUR)]


class Scene(Site):
    """Two workers that hold runs, and the clock that is put."""

    def __init__(self, folder: Path, url: str, whose: str, clock: WallClock) -> None:
        super().__init__(folder, url, **SETTINGS)
        self.whose, self.clock = whose, clock

    def start_worker(self, *, shifted: bool) -> Process:
        command = [sys.executable, "-m", f"{PACKAGE}.worker_app", "worker"]
        process = self.run_command(command, TIDY="0.5", **(self.clock.environment if shifted else {}))
        self.await_ready(process)
        return process

    def start_workers(self) -> list[Process]:
        return [self.start_worker(shifted=self.whose in kinds) for kinds in (("one", "all"), ("all",))]


@pytest.fixture
def server() -> Iterator[tuple[PostgresServer, WallClock]]:
    """A PostgreSQL whose clock can be put."""
    clock = WallClock("server")
    server = PostgresServer(**clock.environment)
    server.start()
    yield server, clock
    server.remove()


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    database, whose, _ = request.getfixturevalue("case")
    clock = WallClock(whose)
    if whose == "server":
        machine, clock = request.getfixturevalue("server")
        url = machine.create_database()
    else:
        url = request.getfixturevalue(f"{database}_url")
    with Scene(tmp_path, url, whose, clock) as scene:
        yield scene


def follow(bell: Workbell, whose: str, step: float) -> None:
    """What a program on that machine would do, which this one is not."""
    if whose == "server":
        bell.store.measure_time()
    elif whose == "all" and isinstance(bell.store, SqliteStore):
        bell.store.measure_time()
        bell.store.clock.measure(lambda: datetime.now(UTC) + timedelta(seconds=step))


def hold_some(scene: Site, bell: Workbell, workers: Sequence[int]) -> dict[str, int]:
    """Runs that go on until their gate is opened, two and more in each worker; which process executes each."""
    holders: dict[str, int] = {}
    while min(list(holders.values()).count(pid) for pid in workers) < 2:
        assert len(holders) < 20, "one of them takes everything"
        run = bell.enqueue(("held_async", "held_plain")[len(holders) % 2], {"gate": "gate"}, timeout=100)
        scene.recorder.acknowledged([run])
        holders[run.id] = scene.await_start(run.id)["pid"]
    return holders


@pytest.mark.timeout(110)
@pytest.mark.parametrize("case", EVERY if SOAK else SHORT, ids=lambda case: f"{case[0]}-{case[1]}-{case[2] / HOUR:+g}h")
def test_a_clock_that_is_put(scene: Scene, case: tuple[str, str, float]) -> None:
    _, whose, step = case
    with Workbell(scene.url) as bell:
        declare(bell, scene.recorder, scene.gates)
        bell.store.check()
        first, second = workers = scene.start_workers()
        bell.schedules.put("ticking", job="quick_async", every=1, overlap="allow")
        holders = hold_some(scene, bell, [first.pid, second.pid])

        scene.clock.put(step)
        put_at = time.monotonic()
        later = scene.start_worker(shifted=whose != "server" and whose != "one")
        done = bell.enqueue_many(mixed(50))
        scene.recorder.acknowledged(done)
        for run in done:
            assert bell.wait(run.id, timeout=20).status is Status.SUCCEEDED, "work goes on"
        until(lambda: time.monotonic() >= put_at + 2.5 * LEASE, "more than two leases to pass")
        assert {run_id: len(scene.starts(run_id)) for run_id in holders} == dict.fromkeys(holders, 1), "none twice"

        killed_at = time.monotonic()
        kill(first)
        lost = [run_id for run_id, pid in holders.items() if pid == first.pid]
        for run_id in lost:
            assert scene.await_start(run_id, 2)["pid"] in (second.pid, later.pid)
        print(f"seconds until the runs of a killed worker began again: {time.monotonic() - killed_at:.2f}")
        follow(bell, whose, step)
        bell.schedules.put("new", job="quick_async", every=1, overlap="allow")
        until(lambda: any(tick.run for tick in bell.schedules.ticks("new", limit=5)), "a new schedule to fire")
        scene.open_gate("gate")
        for run_id in holders:
            assert bell.wait(run_id, timeout=30).status is Status.SUCCEEDED
        for name in ("ticking", "new"):
            bell.schedules.delete(name)
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end")

        expected = {run_id: 2 if run_id in lost else 1 for run_id in holders}
        assert {run_id: len(scene.starts(run_id)) for run_id in holders} == expected
        assert {run.losses for run in snapshot(bell.store).runs if run.id not in lost} == {0}
        put = [line for line in scene.logged().splitlines() if "clock was put" in line]
        followed = {"one": 1, "all": len(workers), "server": len(workers)}[whose]
        if scene.url.startswith("sqlite") or whose == "server":
            assert len(put) == followed, scene.logged()
        else:
            assert not put, "the server's time counts, and nobody else's"
        violations = check(bell.store, scene.events())
        assert not violations, report(violations)


@pytest.mark.skipif(not SOAK, reason="the long version; the short ones show the same without a supervisor")
@pytest.mark.timeout(110)
@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_supervised_fleet(tmp_path: Path, sql_store_url: str, step: float) -> None:
    """With a keeper, a handler that lets nobody else in its process run, and a worker that is killed."""
    clock = WallClock("fleet")
    with Fleet(tmp_path, sql_store_url, **SETTINGS) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        command = [sys.executable, "-m", f"{PACKAGE}.supervised"]
        options = ["start", "--app", APP, "--processes", "2"]
        fleet = site.run_command([*command, *options], TIDY="0.5", **clock.environment)
        workers = site.await_workers(fleet, 2)
        holders = hold_some(site, bell, workers)
        file = file_of(sql_store_url)
        holding = bell.enqueue("holds", {"seconds": 4 * LEASE, "file": None if file is None else str(file)})
        site.recorder.acknowledged([holding])
        holders[holding.id] = site.await_start(holding.id)["pid"]
        site.open_gate("hold")
        site.await_event("holding")

        clock.put(step)
        put_at = time.monotonic()
        other = site.run_command([*command, "worker", "--app", APP, "--processes", "1"], **clock.environment)
        site.await_workers(other, 1)
        until(lambda: time.monotonic() >= put_at + 4 * LEASE, "leases to pass")
        assert bell.wait(holding.id, timeout=30).status is Status.SUCCEEDED
        assert {run_id: len(site.starts(run_id)) for run_id in holders} == dict.fromkeys(holders, 1), "none twice"

        os.kill(workers[0], signal.SIGKILL)
        lost = [run_id for run_id, pid in holders.items() if pid == workers[0] and run_id != holding.id]
        for run_id in lost:
            site.await_start(run_id, 2)
        site.open_gate("gate")
        for run_id in holders:
            assert bell.wait(run_id, timeout=30).status is Status.SUCCEEDED
        expected = {run_id: 2 if run_id in lost else 1 for run_id in holders}
        assert {run_id: len(site.starts(run_id)) for run_id in holders} == expected
        assert stop(fleet) == stop(other) == 0
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.timeout(110)
def test_a_server_that_stands_still_does_not_put_the_clock_ahead(tmp_path: Path) -> None:
    """Half of a stalled call was added to the time: ticks began before they were due, and leases seemed to be over."""
    server = PostgresServer()
    server.start()
    try:
        url = server.create_database()
        with Site(tmp_path, url, **SETTINGS) as site, Workbell(url) as bell:
            declare(bell, site.recorder, site.gates)
            bell.store.check()
            command = [sys.executable, "-m", f"{PACKAGE}.worker_app", "worker"]
            site.await_ready(site.run_command(command, TIDY="0.05"))
            bell.schedules.put("ticking", job="quick_async", every=1, overlap="allow")
            until(lambda: len(site.starts()) >= 2, "the first ticks")
            server.pause()
            paused_at = time.monotonic()
            until(lambda: time.monotonic() >= paused_at + 3, "three seconds to pass")
            server.resume()
            begun = len(site.starts())
            until(lambda: len(site.starts()) >= begun + 3, "the ticks after it")
            bell.schedules.delete("ticking")
            due = {run.id: run.scheduled_for.timestamp() for run in snapshot(bell.store).runs}
            early = [start["at"] - due[start["run"]] for start in site.starts() if start["run"] in due]
            assert len(early) >= 5
            assert min(early) > -0.1, f"a tick began {-min(early):.2f} s early"
    finally:
        server.remove()
