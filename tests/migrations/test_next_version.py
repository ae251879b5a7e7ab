"""A store with work in it is migrated to the next version: nothing is lost, and both versions work on it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import call, environment
from tests.support.next_version import NAME, NOTES, NUMBER, next_version
from tests.support.processes import Process, Site, kill
from tests.support.waiting import until
from tests.support.warm import PACKAGE, SOURCE, TOP
from workbell import Workbell
from workbell.app import open_store
from workbell.engine.materialise import Materialise
from workbell.errors import StoreError
from workbell.model import state
from workbell.model.run import Status
from workbell.settings import Settings
from workbell.stores import migrate
from workbell.stores.port import Filter
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import KEEP, add, after, claim, request
from workbell.testing.contracts.parts.copying import everything, fill

SHAPES = {
    "sqlite": [
        """SELECT m.name, c.name, c.type, c."notnull", coalesce(c.dflt_value, '') FROM sqlite_master m,
        pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name LIKE 'workbell%'""",
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    ],
    "postgres": [
        """SELECT table_name, column_name, data_type, is_nullable, coalesce(column_default, '')
        FROM information_schema.columns WHERE table_schema = current_schema()""",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()",
    ],
}


META = "SELECT name, value FROM workbell_meta"


def opened(url: str) -> SqlStore:
    store = open_store(url)
    assert isinstance(store, SqlStore)
    return store


def answer(store: SqlStore, text: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, store.database.run_read(lambda session: session.text_rows(text, {}))))


def shape(store: SqlStore) -> list[list[tuple[Any, ...]]]:
    """Tables with their columns, and indexes."""
    return [answer(store, text) for text in SHAPES[store.engine]]


def test_everything_is_kept_and_what_is_new_is_filled(sql_store_url: str, tmp_path: Path) -> None:
    with closing(opened(sql_store_url)) as store:
        fill(store)
        before, runs = everything(store), store.runs.list(Filter(None))
        assert all(before.values())
    with next_version(tmp_path / "next").here(), closing(opened(sql_store_url)) as store:
        assert store.migrate() == [NAME]
        assert store.migrate() == []
        assert everything(store) == before
        found = answer(store, "SELECT CAST(run AS text), note FROM workbell_notes")
        assert found == sorted((run.id, run.status.value) for run in runs)


@pytest.fixture
def new_url(sql_store_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Another store of the same kind, without tables."""
    if sql_store_url.startswith("sqlite"):
        return f"sqlite:///{tmp_path}/new.db"
    url: str = request.getfixturevalue("empty_postgres_url")
    return url


def test_tables_are_the_same_made_at_once_or_step_by_step(sql_store_url: str, new_url: str, tmp_path: Path) -> None:
    version = next_version(tmp_path / "next")
    with version.here(), closing(opened(sql_store_url)) as store, closing(opened(new_url)) as new:
        assert store.migrate() == [NAME]
        assert len(new.migrate()) == NUMBER
        assert shape(new) == shape(store)


def test_the_dump_run_by_hand_has_all_of_them(empty_sqlite_url: str, tmp_path: Path) -> None:
    with next_version(tmp_path / "next").here():
        with closing(sqlite3.connect(empty_sqlite_url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(migrate.dump("sqlite"))
        with closing(opened(empty_sqlite_url)) as store:
            store.check()
            assert store.migrate() == []
            assert dict(answer(store, META))["schema_version"] == str(NUMBER)
            fill(store)


def test_live_runs_go_on_and_schedules_work(sql_store_url: str, tmp_path: Path) -> None:
    """Claimed, made and scheduled by this version; finished, found and fired by the next one."""
    with closing(opened(sql_store_url)) as store:
        add(store, *[request(tag=f"t{number}", input_text='{"n":1}') for number in range(3)])
        done, retried, running = claim(store)
        store.runs.apply([state.succeed(done, after(1), result="1", keep=KEEP.succeeded)])
        store.runs.apply([state.retry(retried, after(1), error="E", reason="error", wait=timedelta(seconds=60))])
        (waiting,) = add(store, request(key="k", priority=3))
        before = store.runs.find([run.id for run in (done, retried, running, waiting)])
    with next_version(tmp_path / "next").here():
        store = opened(sql_store_url)
        store.migrate()
        assert store.runs.find(list(before)) == before
        assert store.runs.apply([state.succeed(running, after(2), result="2", keep=KEEP.succeeded)]) == {running.id}
        store.runs.dispatch(after(99), 10)
        assert {run.id for run in claim(store, at=99)} == {retried.id, waiting.id}
        assert [answer.created for answer in store.runs.add([request(key="k", at=99)])] == [False]
        with Workbell(store=store, settings=Settings()) as bell:

            @bell.job
            def work(n: int = 0) -> None: ...

            schedule = bell.schedules.put("often", job=work, every=60)
            assert schedule.look_at is not None
            assert Materialise(store, bell.registry, lambda _: None, 1).step(schedule.look_at) == 0
            (tick,) = bell.schedules.ticks("often")
            assert (tick.outcome, store.runs.find([tick.run or ""])[tick.run or ""].status) == ("fired", Status.QUEUED)


def test_one_that_fails_leaves_the_store_as_it_was(sql_store_url: str, tmp_path: Path) -> None:
    with closing(opened(sql_store_url)) as store:
        fill(store)
        before, meta, tables = everything(store), answer(store, META), shape(store)
    broken = next_version(tmp_path / "next", text=f"{NOTES}INSERT INTO workbell_nowhere (a) VALUES (1);\n")
    with broken.here(), closing(opened(sql_store_url)) as store, pytest.raises(StoreError, match="workbell_nowhere"):
        store.migrate()
    with closing(opened(sql_store_url)) as store:
        assert (everything(store), answer(store, META), shape(store)) == (before, meta, tables)


def all_work(site: Site, bell: Workbell, *workers: Process) -> None:
    """Until each of these workers has executed a run: handlers wait at a gate, so that no worker takes them all."""
    pids = {worker.pid for worker in workers}
    gate = f"all-{'-'.join(map(str, sorted(pids)))}"
    made: list[str] = []

    def all_began() -> bool:
        made.append(bell.enqueue("held_plain", {"gate": gate}).id)
        return pids <= {event["pid"] for event in site.starts() if event["run"] in made}

    until(all_began, "a start in each worker", 60)
    site.open_gate(gate)
    await_success(bell, made)


def await_success(bell: Workbell, runs: list[str]) -> None:
    assert {bell.wait(run, timeout=60).status for run in runs} == {Status.SUCCEEDED}


def test_both_versions_work_on_one_store(sql_store_url: str, tmp_path: Path) -> None:
    """As in a deploy: the store is migrated beside busy workers of this version, and those of the next one follow."""
    version = next_version(tmp_path / "next")
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        ours = [site.worker(), site.worker()]
        migrating = site.start(*version.arguments("migrate"), program="next_version")
        site.await_ready(*ours)
        site.await_event("waiting")
        site.open_gate("go")
        made = []
        while not any(event["kind"] == "migrated" for event in site.events()):
            made.append(bell.enqueue("quick_plain", {"number": len(made)}).id)
        assert migrating.wait(60) == 0
        assert site.await_event("migrated")["applied"] == [NAME]
        theirs = site.start(*version.arguments("worker"), program="next_version")
        site.await_ready(theirs)
        all_work(site, bell, *ours, theirs)
        late = site.worker()  # of this version, started on the newer schema
        site.await_ready(late)
        kill(ours[0])
        all_work(site, bell, ours[1], theirs, late)
        await_success(bell, made)


def test_commands_say_how_a_store_is_brought_up_to_date(tmp_path: Path) -> None:
    version = next_version(tmp_path / "next")
    url = f"sqlite:///{tmp_path}/a.db"
    with closing(opened(url)) as store:
        fill(store)
        before = everything(store)

    def next_call(*arguments: str) -> str:
        program = [sys.executable, "-m", f"{PACKAGE}.next_version", *version.arguments("command", *arguments)]
        variables = environment(PYTHONPATH=os.pathsep.join([str(SOURCE), str(TOP)]))
        done = subprocess.run(program, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60)
        assert not done.stderr, done
        return " ".join(done.stdout.split())  # lines are broken at the width of a terminal

    remedy = f"`workbell migrate` brings it to {NUMBER}."
    assert call(tmp_path, "backup", "before.db", "--url", url).code == 0
    assert f"version {NUMBER - 1} {remedy}" in next_call("doctor", "--url", url)
    assert f"applied {NAME}" in next_call("migrate", "--url", url)
    assert f"schema version {NUMBER}" in next_call("doctor", "--url", url)
    assert f"version {NUMBER - 1}; {remedy}" in next_call("restore", "before.db", "--url", url)
    with closing(opened(url)) as store:
        assert everything(store) == before
    assert f"applied {NAME}" in next_call("migrate", "--url", url)
