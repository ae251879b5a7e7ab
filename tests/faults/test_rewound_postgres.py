"""An older backup of PostgreSQL is put back under two workers: leases are given up, and what ran before is on record.

The backup is a cold copy of the data folder, so that the timeline stays, and only the place in the log falls.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import PostgresServer
from tests.support.processes import Site
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Status, StoreUnavailable, Workbell
from workbell.cli.findings import examine
from workbell.model.rewind import RewindKind

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
ROUNDS = 10 if SOAK else 1
SLOTS = 4  # of each of the two workers
REWOUND = re.compile(r" the store was rewound \(.*$", re.MULTILINE)
MAYBE = re.compile(r" the store may have been rewound \(.*$", re.MULTILINE)


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.remove()


def copy_of(server: PostgresServer) -> Path:
    """A cold backup: stop, copy, start."""
    copy = server.folder / "backup"
    server.stop()
    shutil.rmtree(copy, ignore_errors=True)
    _copy(server.data, copy)
    server.start()
    return copy


def put_back(server: PostgresServer, copy: Path) -> None:
    server.stop()
    shutil.rmtree(server.data)
    _copy(copy, server.data)
    server.start()


def _copy(source: Path, target: Path) -> None:
    """With its owner: PostgreSQL does not run as root."""
    shutil.copytree(source, target, copy_function=_copy_owned)
    for folder in (target, *(path for path in target.rglob("*") if path.is_dir())):
        of = (source / folder.relative_to(target)).stat()
        os.chown(folder, of.st_uid, of.st_gid)


def _copy_owned(source: str, target: str) -> None:
    shutil.copy2(source, target)
    of = Path(source).stat()
    os.chown(target, of.st_uid, of.st_gid)


def answers(bell: Workbell) -> bool:
    try:
        bell.runs(limit=1)
    except StoreUnavailable:
        return False
    return True


@pytest.mark.timeout(110 if not SOAK else 1800)
@pytest.mark.parametrize("_round", range(ROUNDS))
def test_an_older_backup_under_two_workers(tmp_path: Path, server: PostgresServer, _round: int) -> None:
    url = server.create_database()
    with Site(tmp_path, url, LEASE="30", CONCURRENCY=str(SLOTS)) as site, Workbell(url) as bell:
        declare(bell, site.recorder, site.gates)
        quick = {"priority": 10}  # before those that keep all slots busy
        finished = [bell.enqueue("quick_plain", {"number": number}, **quick) for number in range(6)]
        held = [bell.enqueue("held_plain", {"gate": "go"}) for _ in range(2 * SLOTS)]
        bell.pause(queue="default")  # also once the backup is back: nobody claims before the test has seen the leases
        backup = copy_of(server)
        until(lambda: answers(bell), "the server to be back")
        bell.resume(queue="default")
        # After the backup: all of these run, and six more are made and run.
        gone = [bell.enqueue("quick_plain", {"number": number}, **quick) for number in range(6)]
        workers = [site.worker(), site.worker()]
        site.await_ready(*workers)
        for run in (*finished, *gone):
            bell.wait(run.id, timeout=60)
        for run in held:
            site.await_start(run.id)
        put_back(server, backup)
        until(lambda: answers(bell), "the server to be back")
        until(lambda: len(REWOUND.findall(site.logged())) == 2, "both workers to say so", 60)
        until(lambda: len(bell.workers.rewinds(limit=1000)) >= 20, "the records", 30)
        found = bell.workers.rewinds(limit=1000)
        # A handler of a lost lease goes on: it is asked to stop, and its result is not booked.
        until(lambda: site.logged().count("its lease was lost; its handler is asked to stop") == len(held), "leases")
        assert {run.status for run in bell.store.runs.find([run.id for run in held]).values()} == {Status.QUEUED}
        site.open_gate("go")
        bell.resume(queue="default")
        for run in (*finished, *held):
            assert bell.wait(run.id, timeout=60).status == "succeeded"
        assert {one.run for one in found if one.kind is RewindKind.GONE} == {run.id for run in gone}
        assert {one.run for one in found if one.kind is RewindKind.REPEATED} == {run.id for run in finished}
        assert {one.run for one in found if one.kind is RewindKind.LEASE} == {run.id for run in held}
        assert all(len(site.starts(run.id)) == 2 for run in (*finished, *held)), "each was executed twice"
        assert len(REWOUND.findall(site.logged())) == 2, "once for each worker"
        assert "Executed before: worker" in bell.why(finished[0].id)
        (finding,) = [one for one in examine(url).findings if one.what == "rewound"]
        assert finding.level == "risk"
        assert "6 runs that no longer exist" in finding.text
        assert [worker.poll() for worker in workers] == [None, None]


@pytest.mark.timeout(110)
@pytest.mark.parametrize("how", ["restart", "promotion"])
def test_a_false_alarm_costs_no_lease(tmp_path: Path, server: PostgresServer, how: str) -> None:
    """A restart as in a crash, and a promotion that lost nothing: one line, and every run goes on."""
    url = server.create_database()
    with Site(tmp_path, url, LEASE="30") as site, Workbell(url) as bell:
        declare(bell, site.recorder, site.gates)
        worker = site.worker()
        site.await_ready(worker)
        done = [bell.enqueue("quick_plain", {"number": number}) for number in range(6)]
        held = [bell.enqueue("held_plain", {"gate": "go"}) for _ in range(4)]
        for run in done:
            bell.wait(run.id, timeout=60)
        for run in held:
            site.await_start(run.id)
        if how == "restart":
            server.restart("immediate")
        else:
            server.stop()
            (server.data / "standby.signal").touch()
            server.start()
            server.execute("SELECT pg_promote()")
        until(lambda: answers(bell), "the server to be back")
        until(lambda: MAYBE.findall(site.logged()), "the worker to look", 60)
        site.open_gate("go")
        for run in held:
            ended = bell.wait(run.id, timeout=60)
            assert (ended.status, ended.attempt, ended.losses) == ("succeeded", 1, 0)
        assert not REWOUND.findall(site.logged())
        assert len(MAYBE.findall(site.logged())) == 1
        assert bell.workers.rewinds() == []
        assert worker.poll() is None
