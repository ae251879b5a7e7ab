"""What a rewind repeats and what it loses: schedules, keys, events and limits, as docs/protocol.md says; and positions.

The store is put back to a copy of before, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from click.testing import CliRunner

from tests.support.inside.cli import workbell_command as workbell
from tests.support.inside.stores import REWIND_RETENTION as RETENTION
from tests.support.inside.stores import PostgresDatabase, PostgresStore, SqliteStore
from tests.support.inside.values import KnownRun, Settings, Standing, StorePosition, TickOutcome, compare, suspicion
from tests.support.postgres import PostgresServer, database_name
from tests.support.waiting import until
from workbell import Context, Event, Status, Workbell
from workbell.testing import ManualClock

Declare = Callable[[Workbell], Any]


class FileSite:
    """A SQLite file, a copy of it, and the way back."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self.path, self._copy, self._clock = folder / "store.db", folder / "copy.db", clock

    def open(self) -> SqliteStore:
        return SqliteStore(self.path, self._clock)

    def take_copy(self) -> None:
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(self._copy)) as target:
            source.backup(target)

    def put_back(self) -> None:
        for left in self.path.parent.glob("store.db*"):
            left.unlink()
        shutil.copy(self._copy, self.path)


class ServerSite:
    """The same for a database of a server: its template, and the way back."""

    def __init__(self, server: PostgresServer, clock: ManualClock) -> None:
        self._server, self._clock = server, clock
        self.url = server.create_database()
        self._copy = ""

    def open(self) -> PostgresStore:
        return PostgresStore(self.url, self._clock)  # type: ignore[arg-type]

    def take_copy(self) -> None:
        self._copy = self._server.create_database(template=self.url)

    def put_back(self) -> None:
        self._server.drop_database(self.url)
        self._server.execute(f'ALTER DATABASE "{database_name(self._copy)}" RENAME TO "{database_name(self.url)}"')

    def remove(self) -> None:
        self._server.drop_database(self.url)


class Rewindable:
    """A store that the tests put back. `bell` is another one after each step: nobody has it open meanwhile."""

    def __init__(self, site: FileSite | ServerSite, clock: ManualClock) -> None:
        self.site, self.clock = site, clock
        self.declare: Declare = lambda bell: None
        self.bell = self._open()

    def _open(self) -> Workbell:
        bell = Workbell(store=self.site.open(), settings=Settings(lease=1))
        bell.store.check()
        self.declare(bell)
        return bell

    def use(self, declare: Declare) -> None:
        self.declare = declare
        declare(self.bell)

    def take_copy(self) -> None:
        self.bell.close()
        self.site.take_copy()
        self.bell = self._open()

    def rewind(self) -> None:
        self.bell.close()
        self.site.put_back()
        self.bell = self._open()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rewindable]:
    clock = ManualClock()
    if request.param == "sqlite":
        site: FileSite | ServerSite = FileSite(tmp_path, clock)
    else:
        site = ServerSite(request.getfixturevalue("postgres_server"), clock)
    found = Rewindable(site, clock)
    yield found
    found.bell.close()
    if isinstance(site, ServerSite):
        site.remove()


def test_ticks_after_the_point_fire_again_once(store: Rewindable) -> None:
    """Their rows are gone with their runs: the schedule decides on them again, by its rule for missed ticks."""

    def declare(bell: Workbell) -> None:
        @bell.job(cron="* * * * *", catch_up="all", overlap="allow")
        def report() -> None: ...

    store.use(declare)
    store.bell.dispatch()
    store.take_copy()
    for _ in range(3):
        store.clock.advance(60)
        store.bell.dispatch()
    before = {run.scheduled_for: run.id for run in store.bell.runs(job="report")}
    assert len(before) == 3
    store.rewind()
    assert store.bell.runs(job="report") == []
    store.bell.dispatch()
    store.bell.dispatch()
    again = {run.scheduled_for: run.id for run in store.bell.runs(job="report")}
    assert again.keys() == before.keys()
    assert set(again.values()).isdisjoint(before.values())
    ticks = store.bell.schedules.ticks("report")
    assert [tick.outcome for tick in ticks] == [TickOutcome.FIRED] * 3
    assert len({tick.due for tick in ticks}) == 3


def test_a_key_taken_after_the_point_is_free_again(store: Rewindable) -> None:
    store.use(lambda bell: bell.job(name="send")(lambda: None))
    store.take_copy()
    first = store.bell.enqueue("send", key="order-7")
    assert store.bell.enqueue("send", key="order-7").id == first.id
    store.rewind()
    second = store.bell.enqueue("send", key="order-7")
    assert second.id != first.id
    assert store.bell.enqueue("send", key="order-7").id == second.id


def test_events_after_the_point_are_gone_and_earlier_ones_fan_out_again(store: Rewindable) -> None:
    def declare(bell: Workbell) -> None:
        @bell.on("order.*")
        def note(event: Event) -> None: ...

    store.use(declare)
    store.bell.dispatch()
    early = store.bell.emit("order.paid", key="1", source="shop")
    store.take_copy()
    late = store.bell.emit("order.sent", key="2", source="shop")
    assert store.bell.dispatch().fanned_out == 2
    assert len(store.bell.runs(job="note")) == 2
    store.rewind()
    assert [event.id for event in store.bell.events.list()] == [early.id]
    assert store.bell.dispatch().fanned_out == 1
    (run,) = store.bell.runs(job="note")
    assert run.event == early.id
    assert store.bell.emit("order.sent", key="2", source="shop").id != late.id  # its key is forgotten, too


@pytest.mark.anyio
async def test_a_limit_counts_the_leases_of_the_store_alone(sql_store_url: str) -> None:
    """A handler whose lease the store forgot runs beside a new one, until it hears of it."""
    begun, stopped, numbers, running = threading.Semaphore(0), threading.Event(), itertools.count(), []
    with Workbell(settings=Settings(url=sql_store_url, lease=2, poll=0.05, concurrency=2)) as bell:

        @bell.job(concurrency=1)
        def alone(ctx: Context) -> str:
            number = next(numbers)
            begun.release()
            if number == 0:
                until(lambda: ctx.canceled, "the lease to be lost")
                stopped.set()
                return "the first"
            running.append(len(bell.runs(status="running")))
            until(stopped.is_set, "the first to be told")
            return "the second"

        async with bell.running():
            run = await alone.aenqueue()
            assert await asyncio.to_thread(begun.acquire, timeout=30)
            forget = """UPDATE workbell_runs SET status = 'queued', token = 40, attempt = 0, worker = NULL,
                lease_until = NULL, started_at = NULL WHERE id = :id"""
            bell.store.database.run_write(lambda session: session.text_rows(forget, {"id": run.id}))
            bell.store.wake()
            assert await asyncio.to_thread(begun.acquire, timeout=30), "the second handler beside the first"
            ended = await bell.await_(run.id, timeout=30)
        assert (ended.status, ended.result) == (Status.SUCCEEDED, "the second")
        assert running == [1]


class TestPositions:
    def test_a_store_that_was_put_back_looks_suspicious(self, store: Rewindable) -> None:
        store.use(lambda bell: bell.job(name="send")(lambda: None))
        store.bell.enqueue("send")
        store.take_copy()
        before = store.bell.store.position()
        assert before is not None
        store.clock.advance(5)
        store.bell.enqueue("send")
        seen = store.bell.store.position()
        assert seen is not None
        assert suspicion(before, seen) is None
        store.rewind()
        after = store.bell.store.position()
        assert after is not None
        # On SQLite the newest run is an older one only if ids are of another millisecond; see the next test.
        assert suspicion(seen, after) is not None or isinstance(store.site, FileSite)

    def test_a_file_without_its_newest_runs(self, tmp_path: Path) -> None:
        site = FileSite(tmp_path, ManualClock())
        with Workbell(store=SqliteStore(site.path), settings=Settings()) as bell:
            send = bell.job(name="send")(lambda: None)
            first = send.enqueue()
            before = bell.store.position()
            until(lambda: send.enqueue().id[:13] > first.id[:13], "a run of another millisecond")
            seen = bell.store.position()
            assert before is not None
            assert seen is not None
            assert suspicion(before, seen) is None
            assert "it ends at" in (suspicion(seen, before) or "")

    def test_a_restore_renews_the_identity(self, tmp_path: Path) -> None:
        with Workbell(store=SqliteStore(tmp_path / "store.db"), settings=Settings()) as bell:
            bell.store.check()
            before = bell.store.position()
            renew = "INSERT INTO workbell_meta (name, value) VALUES ('incarnation', 'another')"
            bell.store.database.run_write(lambda session: session.text_rows(renew, {}))
            after = bell.store.position()
            assert after is not None
            assert "another database" in (suspicion(before, after) or "")

    @pytest.mark.parametrize("restored", ["TRUNCATE workbell_runs", "VACUUM FULL workbell_runs"])
    def test_a_table_that_was_written_anew(self, postgres_url: str, restored: str) -> None:
        """As by pg_restore. VACUUM FULL looks the same, and is a false alarm."""
        with Workbell(postgres_url) as bell:
            before = bell.store.position()
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(restored)
            after = bell.store.position()
            assert after is not None
            assert "another database" in (suspicion(before, after) or "")

    def test_tables_that_are_away_for_a_moment(self, postgres_url: str) -> None:
        """As while `pg_restore --clean` runs: the question is asked again afterwards, and what came back is another."""
        with Workbell(postgres_url) as bell:
            before = bell.store.position()
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute("ALTER TABLE workbell_runs RENAME TO away")
                away = bell.store.position()
                connection.execute("ALTER TABLE away RENAME TO workbell_runs")
                connection.execute("TRUNCATE workbell_runs")
            after = bell.store.position()
            assert before is not None
            assert away is not None
            assert after is not None
            assert "another database" in (suspicion(before, away) or "")
            assert "another database" in (suspicion(before, after) or "")
            assert after.place > 0

    @pytest.mark.parametrize(
        ("revoked", "found"),
        [
            ("", ["position", "position_by_file"]),
            ("pg_control_system()", ["position_by_file"]),
            ("pg_walfile_name(pg_lsn)", ["position_by_file"]),
            ("pg_control_system(), pg_postmaster_start_time()", []),
        ],
    )
    def test_a_role_that_may_not_ask(
        self, postgres_server: PostgresServer, revoked: str, found: list[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        """Less is known, or nothing; it is no error, and what was refused is not asked for again."""
        caplog.set_level(logging.INFO, "workbell.store")
        url = postgres_server.create_database()
        role = f"plain_{database_name(url)}"
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(f'CREATE ROLE "{role}" LOGIN')
            owner.execute(f'GRANT ALL ON SCHEMA public TO "{role}"')
            if revoked:
                owner.execute(f"REVOKE EXECUTE ON FUNCTION {revoked} FROM PUBLIC")
        try:
            with Workbell(url.replace("workbell@", f"{role}@")) as bell:
                database = bell.store.database
                assert isinstance(database, PostgresDatabase)
                positions = [bell.store.position() for _ in range(3)]
                assert database._position_queries == found
                assert len([one for one in caplog.records if "is refused here" in one.getMessage()]) == 2 - len(found)
                if found:
                    assert all(isinstance(one, StorePosition) for one in positions)
                    assert suspicion(positions[0], positions[2]) is None  # type: ignore[arg-type]
                else:
                    assert positions == [None] * 3
        finally:
            with psycopg.connect(url, autocommit=True) as owner:
                owner.execute(f'DROP OWNED BY "{role}"')
            postgres_server.drop_database(url)
            postgres_server.execute(f'DROP ROLE "{role}"')


def test_records_are_listed_and_removed_in_the_end(store: Rewindable) -> None:
    now, bell = store.clock.now(), store.bell
    known = [
        KnownRun(
            f"00000000-0000-7000-8000-00000000000{n}", "default", 2**53 - 1, "w", Status.SUCCEEDED, 1, now, True, None
        )
        for n in range(3)
    ]
    other = msgspec.structs.replace(known[0], tenant="other")
    bell.store.rewinds.add(compare([*known, other], {}, now, "w"))
    found = bell.workers.rewinds(limit=2)
    assert [one.run for one in found] == [known[2].id, known[1].id]
    assert found[0].token == 2**53 - 1
    assert [one.run for one in bell.workers.rewinds(before=found[-1].id)] == [known[0].id]
    assert len(bell.store.rewinds.list(None, limit=10)) == 4
    assert bell.store.prune(now + RETENTION - timedelta(seconds=1), 100) == 0
    assert bell.store.prune(now + RETENTION, 3) == 3
    assert bell.store.prune(now + RETENTION, 3) == 1
    assert bell.workers.rewinds() == []


def test_the_command_line_shows_them(sql_store_url: str) -> None:
    with Workbell(sql_store_url) as bell:
        bell.job(name="send")(lambda: None)
        run, now = bell.enqueue("send"), bell.store.clock.now()
        known = KnownRun(run.id, "default", 5, "box/1/2/3", Status.SUCCEEDED, 1, now, True, None)
        there = {run.id: Standing(Status.QUEUED, 0, 0, None, now)}
        bell.store.rewinds.add(compare([known], there, now, "box/1/2/3"))

    def told(*words: str) -> str:
        answer = CliRunner().invoke(workbell, [*words, "--url", sql_store_url], env={"COLUMNS": "300"})
        assert answer.exit_code == 0, answer.output
        return answer.stdout

    listed = told("workers", "rewinds")
    assert run.id in listed
    assert "repeated" in listed
    (record,) = json.loads(told("workers", "rewinds", "--json"))
    assert (record["run"], record["kind"], record["token"]) == (run.id, "repeated", 5)
    assert "Executed before: worker box/1/2/3 finished it as succeeded" in told("runs", "show", run.id)
    with Workbell(sql_store_url) as bell:
        bell.job(name="send")(lambda: None)
        bell.consume()
        assert bell.get(run.id).status is Status.SUCCEEDED
    assert "Executed before" in told("runs", "show", run.id), "also of a run that succeeded"
