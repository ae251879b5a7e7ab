"""The store is away for a while: results of handlers that have ended are booked when it is back, and nothing that had
ended runs again (P98).

PostgreSQL is stopped or frozen; a SQLite file has its write lock taken by a program that is not Workbell.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.fleet import Fleet, await_gone, stop
from tests.support.postgres import PostgresServer
from tests.support.processes import Process, Site, file_of, freeze_pid
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Run, Status, Workbell
from workbell.model.run import LIVE

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
LEASE = 5.0
JOBS = ("held_async", "held_plain")
STORES = ["sqlite", "postgres", *(["frozen postgres"] if SOAK else [])]
SHORT = [(5.0, LEASE), *([(20.0, LEASE), (40.0, 30.0), (120.0, 30.0)] if SOAK else [])]  # seconds, and the lease
LONG = [(20.0, LEASE), *([(40.0, 30.0), (120.0, 30.0)] if SOAK else [])]

LOCKS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


class Store:
    """A store that can be away."""

    def __init__(self, kind: str, url: str, server: PostgresServer | None) -> None:
        self.kind = kind
        self.url = url
        self._server = server

    @contextmanager
    def away(self) -> Iterator[float]:
        """Away for as long as the block lasts; since when, of monotonic time."""
        if self._server is None:
            with subprocess.Popen(
                [sys.executable, "-c", LOCKS, str(file_of(self.url))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as other:
                try:
                    assert other.stdout is not None
                    assert other.stdout.readline() == b"locked\n"
                    yield time.monotonic()
                finally:
                    other.kill()
        elif self.kind == "postgres":
            self._server.stop()
            try:
                yield time.monotonic()
            finally:
                self._server.start()
        else:
            self._server.pause()
            try:
                yield time.monotonic()
            finally:
                self._server.resume()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One that belongs to these tests alone."""
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.remove()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "sqlite":
        yield Store(request.param, request.getfixturevalue("sqlite_url"), None)
        return
    server: PostgresServer = request.getfixturevalue("server")
    url = server.create_database()
    yield Store(request.param, url, server)
    server.drop_database(url)


def enqueue(site: Site, bell: Workbell, gate: str, count: int = 2) -> list[Run]:
    """Handlers that execute until their gate is opened."""
    runs = [bell.enqueue(job, {"gate": gate}) for job in JOBS * count]
    site.recorder.acknowledged(runs)
    for run in runs:
        site.await_start(run.id)
    return runs


def end(site: Site, gate: str, runs: Sequence[Run]) -> None:
    """Let these handlers end."""
    site.open_gate(gate)
    ids = {run.id for run in runs}
    until(
        lambda: ids <= {event["run"] for event in site.events() if event["kind"] == "returned"}, f"{gate}: all to end"
    )


def wait_for(moment: float) -> None:
    """Until an outage has lasted for so long: its length is what the test is about."""
    until(lambda: time.monotonic() >= moment, "the outage to last", 200)


def assert_booked_once(site: Site, bell: Workbell, runs: Sequence[Run]) -> None:
    """Booked from the one call of the handler, and nobody ever took them from their worker."""
    until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 90)
    starts = Counter(event["run"] for event in site.starts())
    found = [bell.get(run.id) for run in runs]
    assert [(starts[run.id], run.status, run.attempt, run.losses, run.failures) for run in found] == [
        (1, Status.SUCCEEDED, 1, 0, 0)
    ] * len(runs), site.logged()[-6000:]
    assert all(run.result["attempt"] == 1 for run in found)


def assert_sound(site: Site, bell: Workbell) -> None:
    violations = check(bell.store, site.events())
    assert not violations, report(violations)


@pytest.mark.timeout(400 if SOAK else 110)
@pytest.mark.parametrize(("seconds", "lease"), SHORT)
def test_results_wait_for_the_store(tmp_path: Path, store: Store, seconds: float, lease: float) -> None:
    """No handler executes when the lease would end: the process stays, and books all of it.

    Another worker process watches the leases all along.
    """
    with Fleet(tmp_path, store.url, LEASE=str(lease)) as site, Workbell(store.url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        first = site.supervise("worker", "--processes", "1")
        workers = site.await_workers(first, 1)
        before, during = enqueue(site, bell, "before"), enqueue(site, bell, "during")
        second = site.supervise("worker", "--processes", "1")
        watchers = site.await_workers(second, 1)

        end(site, "before", before)
        with store.away() as since:
            end(site, "during", during)
            wait_for(since + seconds)
        assert_booked_once(site, bell, [*before, *during])
        assert (site.await_workers(first, 1), site.await_workers(second, 1)) == (workers, watchers)
        assert [stop(first), stop(second)] == [0, 0]
        assert_sound(site, bell)


@pytest.mark.timeout(110)
def test_the_time_of_an_outage_does_not_count(tmp_path: Path, server: PostgresServer) -> None:
    """Another process saw before the outage that leases were not renewed: they have the rest of their time after it.

    (On SQLite a stopped holder may have the write lock: there `tests/engine/test_recover.py` shows it.)
    """
    lease, unseen, slow = 8.0, 2.5, 4.0  # seconds; a sweep that counts the outage takes them within 3 s
    url = server.create_database()
    with Fleet(tmp_path, url, LEASE=str(lease)) as site, Workbell(url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        second = site.supervise("worker", "--processes", "1", "--queues", "nothing")
        site.await_workers(second, 1)
        first = site.supervise("worker", "--processes", "1")
        workers = site.await_workers(first, 1)
        runs = enqueue(site, bell, "late")
        holders = [*workers, *site.children_of(first, "keeper")]
        for pid in holders:
            freeze_pid(pid)
        wait_for(time.monotonic() + unseen)
        with Store("postgres", url, server).away() as since:
            wait_for(since + lease + 1)
        wait_for(time.monotonic() + slow)
        assert {bell.get(run.id).status for run in runs} == {Status.RUNNING}, site.logged()[-4000:]
        for pid in holders:
            os.kill(pid, signal.SIGCONT)
        end(site, "late", runs)
        assert_booked_once(site, bell, runs)
        assert [stop(first), stop(second)] == [0, 0]
        assert_sound(site, bell)
    server.drop_database(url)


@pytest.mark.timeout(400 if SOAK else 110)
@pytest.mark.parametrize(("seconds", "lease"), LONG)
def test_a_worker_that_must_end_hands_its_results_over(
    tmp_path: Path, store: Store, seconds: float, lease: float
) -> None:
    """A handler that still executes ends its process before its lease does (P6). The keeper books what had ended."""
    with Fleet(tmp_path, store.url, LEASE=str(lease)) as site, Workbell(store.url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        first = site.supervise("worker", "--processes", "1")
        (worker,) = site.await_workers(first, 1)
        before, during = enqueue(site, bell, "before"), enqueue(site, bell, "during")
        after = enqueue(site, bell, "after", 1)
        second = site.supervise("worker", "--processes", "1")
        site.await_workers(second, 1)

        end(site, "before", before)
        with store.away() as since:
            end(site, "during", during)
            await_gone([worker])
            assert time.monotonic() - since < lease, "its handlers went on"
            wait_for(since + seconds)
        site.open_gate("after")
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 90)
        assert_booked_once(site, bell, [*before, *during])
        starts = Counter(event["run"] for event in site.starts())
        for run in after:  # known to be lost, and executed once more
            ended = bell.get(run.id)
            attempts = [attempt.status.value for attempt in bell.attempts(run.id)]
            assert (starts[run.id], attempts, ended.losses) == (2, ["lost", "succeeded"], 1)
        assert [stop(first), stop(second)] == [0, 0]
        assert "results dropped" not in site.logged()
        assert_sound(site, bell)


@pytest.mark.timeout(110)
def test_a_stop_waits_for_the_store(tmp_path: Path, store: Store) -> None:
    """Within the grace: the store is back before that is over."""
    with Fleet(tmp_path, store.url, LEASE=str(LEASE), GRACE="15") as site, Workbell(store.url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "1")
        site.await_workers(fleet, 1)
        runs = enqueue(site, bell, "during")
        with store.away():
            end(site, "during", runs)
            fleet.send_signal(signal.SIGTERM)
            site.await_event("stopping")
            time.sleep(1.0)  # of an outage in which the stop goes on
        assert fleet.wait(60) == 0
        assert_booked_once(site, bell, runs)
        assert "results dropped" not in site.logged()
        assert_sound(site, bell)


@pytest.mark.timeout(110)
def test_a_stop_names_what_it_drops(tmp_path: Path, store: Store) -> None:
    """The store is not back in time: the service ends, the log names the runs, and they are executed again."""
    grace = 1.0
    with Fleet(tmp_path, store.url, LEASE=str(LEASE), GRACE=str(grace)) as site, Workbell(store.url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "1")
        site.await_workers(fleet, 1)
        runs = enqueue(site, bell, "during", 1)
        with store.away():
            end(site, "during", runs)
            began = time.monotonic()
            fleet.send_signal(signal.SIGTERM)
            assert fleet.wait(60) == 0
            assert time.monotonic() - began < grace + 10
        named = [line for line in site.logged().splitlines() if "executed again: " in line]
        assert all(any(run.id in line for line in named) for run in runs), site.logged()[-4000:]
        site.await_workers(site.supervise("worker", "--processes", "1"), 1)
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 90)
        assert {bell.get(run.id).status for run in runs} == {Status.SUCCEEDED}


@pytest.mark.timeout(110)
def test_without_a_supervisor(tmp_path: Path, store: Store) -> None:
    """An embedded engine cannot know whether its lease is lost while the store is away: it tries to book."""
    lease = 2.0
    with Site(tmp_path, store.url, LEASE=str(lease)) as site, Workbell(store.url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        worker: Process = site.worker()
        site.await_ready(worker)
        plain = [bell.enqueue("held_plain", {"gate": gate}) for gate in ("early", "late")]
        site.recorder.acknowledged(plain)
        for run in plain:
            site.await_start(run.id)
        site.await_ready(site.worker())
        with store.away() as since:
            end(site, "early", plain[:1])
            wait_for(since + 2 * lease)
            if store.kind == "postgres":  # else the renewal itself still waits for an answer
                until(lambda: "could not be renewed in time" in site.logged(), "its lease to be over by its own clock")
            end(site, "late", plain[1:])
            wait_for(since + 5)
        assert_booked_once(site, bell, plain)
        assert_sound(site, bell)
