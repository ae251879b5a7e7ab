"""A3: what a handler writes by `ctx.db` is there if and only if it returned while the run was its own."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.waiting import until
from workbell import Cancel, Context, Retry, Run, Snooze, Status, Workbell
from workbell.engine.execute import call_async, call_plain
from workbell.engine.work import Work
from workbell.errors import SettingsError
from workbell.model import state
from workbell.model.outcome import HANDED_BACK, Outcome, Raised, Returned
from workbell.settings import Settings
from workbell.testing import drain, inline
from workbell.testing.sqlite_files import SqliteFiles

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)


class Application:
    """A Workbell with an application's database of its own, that has one table."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "app.db"
        self.bell = Workbell(
            settings=Settings(
                url=f"sqlite:///{folder}/workbell.db",
                database=f"sqlite:///{self.path}",
                storage=str(folder / "storage"),
                lease=1,
                poll=0.02,
                grace=5,
            )
        )
        self.execute("CREATE TABLE t (x)")

    def execute(self, sql: str) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.path, timeout=10)) as connection, connection:
            return connection.execute(sql).fetchall()

    @property
    def rows(self) -> list[Any]:
        return [x for (x,) in self.execute("SELECT x FROM t ORDER BY x")]


@pytest.fixture
def app(tmp_path: Path, sqlite_files: SqliteFiles) -> Iterator[Application]:
    sqlite_files.make(tmp_path / "workbell.db")
    app = Application(tmp_path)
    with app.bell:
        yield app


def insert(ctx: Context, x: int = 1) -> None:
    ctx.db.execute("INSERT INTO t VALUES (?)", [x])


class TestEndings:
    async def test_returned_and_raised(self, app: Application) -> None:
        @app.bell.job(retry=ONCE)
        def plain(ctx: Context, x: int) -> None:
            insert(ctx, x)
            if x > 10:
                raise LookupError

        @app.bell.job(retry=ONCE)
        async def asynchronous(ctx: Context, x: int) -> None:
            insert(ctx, x)
            if x > 10:
                raise LookupError

        @app.bell.job(retry=ONCE)
        async def exits(ctx: Context) -> None:
            insert(ctx, 99)
            raise SystemExit

        # One after the other: SQLite lets one write at a time.
        async with app.bell.running(concurrency=1):
            for job in (plain, asynchronous):
                for x in (1, 11) if job is plain else (2, 12):
                    await app.bell.await_((await job.aenqueue(x)).id, timeout=30)
            await app.bell.await_((await exits.aenqueue()).id, timeout=30)
        assert app.rows == [1, 2]

    def test_steering_is_a_return(self, app: Application) -> None:
        @app.bell.job
        def canceled(ctx: Context) -> Cancel:
            insert(ctx, 1)
            return Cancel("enough")

        @app.bell.job
        def snoozed(ctx: Context) -> Snooze:
            insert(ctx, 2)
            return Snooze(3600)

        with inline(app.bell):
            assert canceled.enqueue().status is Status.CANCELED
            assert snoozed.enqueue().status is Status.SCHEDULED
        assert app.rows == [1, 2]

    def test_a_result_that_cannot_be_kept_is_a_failure(self, app: Application) -> None:
        @app.bell.job
        def bad(ctx: Context) -> object:
            insert(ctx)
            return object()

        with inline(app.bell):
            assert bad.enqueue().status is Status.FAILED
        assert app.rows == []

    def test_each_attempt_has_its_own(self, app: Application) -> None:
        @app.bell.job(retry=Retry(attempts=3, delay=0))
        def third_time(ctx: Context) -> None:
            insert(ctx, ctx.run.attempt)
            assert ctx.run.attempt == 3

        third_time.enqueue()
        drain(app.bell)
        assert app.rows == [3]

    def test_what_the_handler_commits_itself_stays(self, app: Application) -> None:
        @app.bell.job(retry=ONCE)
        def steps(ctx: Context) -> None:
            insert(ctx, 1)
            ctx.db.commit()
            insert(ctx, 2)
            raise LookupError

        with inline(app.bell):
            steps.enqueue()
        assert app.rows == [1]

    async def test_canceled(self, app: Application) -> None:
        begun = asyncio.Event()

        @app.bell.job
        async def endless(ctx: Context) -> None:
            insert(ctx)
            begun.set()
            await asyncio.Event().wait()

        async with app.bell.running():
            run = await endless.aenqueue()
            await asyncio.wait_for(begun.wait(), 30)
            await app.bell.acancel(run.id)
            await app.bell.await_(run.id, timeout=30)
        assert app.rows == []

    async def test_timed_out(self, app: Application) -> None:
        gate, ended = threading.Event(), threading.Event()

        @app.bell.job(timeout=0.05, retry=ONCE)
        async def slow(ctx: Context) -> None:
            insert(ctx)
            await asyncio.Event().wait()

        @app.bell.job(timeout=0.05, retry=ONCE)
        def slow_plain(ctx: Context) -> None:
            try:
                gate.wait(30)
                insert(ctx)
            finally:
                ended.set()

        async with app.bell.running():
            for job in (slow, slow_plain):
                run = await app.bell.await_((await job.aenqueue()).id, timeout=30)
                assert run.reason == "timeout"
            gate.set()  # it returns, too late
            await asyncio.to_thread(ended.wait, 30)
            # The thread lets go of its connection after that; then the file can be locked by others.
            await asyncio.to_thread(until, lambda: self.can_be_locked(app), "the file without a lock")
        assert app.rows == []

    def can_be_locked(self, app: Application) -> bool:
        try:
            with contextlib.closing(sqlite3.connect(app.path, timeout=0, isolation_level=None)) as connection:
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
        return True

    def test_a_commit_that_fails_is_an_error_of_the_handler(self, app: Application) -> None:
        app.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        app.execute("CREATE TABLE child (id REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")

        @app.bell.job(retry=ONCE)
        def orphan(ctx: Context) -> str:
            ctx.db.execute("PRAGMA foreign_keys = on")
            ctx.db.execute("INSERT INTO child VALUES (1)")
            return "done"

        with inline(app.bell):
            run = orphan.enqueue()
        assert (run.status, run.result) == (Status.FAILED, None)
        assert "FOREIGN KEY" in (run.error or "")
        assert app.execute("SELECT count(*) FROM child") == [(0,)]

    def test_without_use_nothing_is_opened(self, app: Application) -> None:
        app.path.unlink()

        @app.bell.job
        def idle(ctx: Context) -> None: ...

        with inline(app.bell):
            assert idle.enqueue().status is Status.SUCCEEDED
        assert not app.path.exists()


class TestLease:
    """A run that is not ours any more must leave nothing behind: somebody else does it again."""

    def begin(self, app: Application, kind: str) -> tuple[Work, Context, Run]:
        if kind == "plain":

            @app.bell.job(name="it", timeout=60)
            def plain(ctx: Context) -> str:
                insert(ctx)
                return "done"
        else:

            @app.bell.job(name="it", timeout=60)
            async def asynchronous(ctx: Context) -> str:
                insert(ctx)
                return "done"

        bell, store = app.bell, app.bell.store
        run = bell.enqueue("it")
        now = store.clock.now()
        [head] = store.runs.survey(0, 10)
        from workbell.stores.port import LeaseTerms, Pick

        [claimed] = store.runs.claim(
            [Pick(head.lane_id, head.rank, 1)], 1, LeaseTerms.drawn("w", now, now + timedelta(seconds=30))
        )
        assert claimed.id == run.id
        job = bell.registry.find("it")
        assert job is not None
        work = Work(claimed, job)
        return work, Context(claimed, bell._services, store.runs.set_progress, lambda: work.stopping), claimed

    async def call(self, work: Work, context: Context) -> Outcome:
        return await call_async(work, context) if work.job.is_async else call_plain(work, context)

    @pytest.mark.parametrize("kind", ["plain", "async"])
    @pytest.mark.parametrize("flag", ["lost", "settled", "timed_out"])
    async def test_known_to_be_lost(self, app: Application, kind: str, flag: str) -> None:
        work, context, _ = self.begin(app, kind)
        setattr(work, flag, True)
        outcome = await self.call(work, context)
        assert outcome == HANDED_BACK or isinstance(outcome, Raised)
        assert app.rows == []

    @pytest.mark.parametrize("kind", ["plain", "async"])
    async def test_overdue_and_taken_over(self, app: Application, kind: str) -> None:
        """The process was stopped for a while, and nobody has told it yet."""
        work, context, run = self.begin(app, kind)
        work.valid_until = app.bell.store.clock.boottime()
        assert app.bell.store.runs.apply([state.release(run, app.bell.store.clock.now())])
        assert await self.call(work, context) == HANDED_BACK
        assert app.rows == []

    @pytest.mark.parametrize("kind", ["plain", "async"])
    async def test_overdue_and_still_ours(self, app: Application, kind: str) -> None:
        work, context, _ = self.begin(app, kind)
        work.valid_until = app.bell.store.clock.boottime()
        assert await self.call(work, context) == Returned('"done"')
        assert app.rows == [1]


class TestDirectCalls:
    """Whoever makes the context ends it."""

    def test_plain(self, app: Application) -> None:
        @app.bell.job
        def add(ctx: Context, x: int) -> Any:
            insert(ctx, x)
            return 1 // (x - 2), ctx

        value, context = add(1)
        assert (value, app.rows) == (-1, [1])
        with pytest.raises(ZeroDivisionError):
            add(2)
        assert app.rows == [1]
        with pytest.raises(Exception, match="the handler has ended"):
            context.db  # noqa: B018

    async def test_async(self, app: Application) -> None:
        @app.bell.job
        async def add(ctx: Context, x: int) -> int:
            insert(ctx, x)
            await asyncio.sleep(0)
            return 1 // (x - 2)

        assert (await add(1), app.rows) == (-1, [1])
        with pytest.raises(ZeroDivisionError):
            await add(2)
        assert app.rows == [1]

    def test_with_the_callers_context(self, app: Application) -> None:
        """Then it is the caller's transaction."""

        @app.bell.job
        def inner(ctx: Context) -> None:
            insert(ctx, 2)

        @app.bell.job(retry=ONCE)
        def outer(ctx: Context) -> None:
            insert(ctx, 1)
            inner.function(ctx)
            inner(ctx)  # type: ignore[call-arg]
            assert ctx.db.in_transaction
            raise LookupError

        with inline(app.bell):
            outer.enqueue()
        assert app.rows == []


class TestResources:
    def test_the_stores_file_is_refused(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/workbell.db"
        with Workbell(settings=Settings(url=url, database=url)) as bell:

            @bell.job(retry=ONCE)
            def it(ctx: Context) -> None:
                ctx.db.execute("SELECT 1")

            with inline(bell):
                run = it.enqueue()
        assert "the store's own file" in (run.error or "")

    @pytest.mark.anyio
    async def test_it_is_refused_before_anything_runs(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/workbell.db"
        refused = pytest.raises(SettingsError, match="the store's own file, which handlers must not lock")
        with Workbell(settings=Settings(url=url, database=url)) as bell, refused:
            async with bell.running():
                pass
        unread = pytest.raises(SettingsError, match=r"database = 'app\.db' cannot be read: write sqlite:///app\.db")
        with Workbell(settings=Settings(url=url, database="app.db")) as bell, unread:
            async with bell.running():
                pass
        url = f"sqlite:///{tmp_path}/app.db"  # the default of `database`, which nobody may have meant
        with Workbell(settings=Settings(url=url, database=url)) as bell:
            async with bell.running():
                pass

    def test_postgres(self, postgres_url: str, tmp_path: Path) -> None:
        """There, it may be the store's own database."""
        with Workbell(settings=Settings(url=postgres_url, database=postgres_url)) as bell:

            @bell.job(retry=ONCE)
            def it(ctx: Context, fail: bool) -> None:
                ctx.db.execute("CREATE TABLE IF NOT EXISTS mine (x int)")
                ctx.db.execute("INSERT INTO mine VALUES (1)")
                assert not fail

            with inline(bell):
                assert it.enqueue(fail=True).status is Status.FAILED
                assert it.enqueue(fail=False).status is Status.SUCCEEDED
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            assert connection.execute("SELECT count(*) FROM mine").fetchone() == (1,)
            connection.execute("DROP TABLE mine")

    def test_other_tenants_use_the_same_database_and_files_of_their_own(self, app: Application) -> None:
        @app.bell.job
        def it(ctx: Context) -> str:
            insert(ctx)
            return ctx.storage.put(b"x", filename="x").id

        @app.bell.job
        def find(ctx: Context, file: str) -> bool:
            return ctx.storage.get(file) is not None

        other = app.bell.for_tenant("other")
        with inline(app.bell):
            file = other.get(other.enqueue("it").id).result
            assert other.get(other.enqueue("find", {"file": file}).id).result is True
            assert app.bell.enqueue("find", {"file": file}).result is False
        assert app.rows == [1]
        other.close()

    def test_threads_of_a_handler_share_one_connection(self, app: Application) -> None:
        @app.bell.job
        def it(ctx: Context) -> int:
            found: list[Any] = []
            threads = [threading.Thread(target=lambda: found.append(ctx.db)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            insert(ctx)
            return len(set(map(id, found)))

        with inline(app.bell):
            assert it.enqueue().result == 1
        assert app.rows == [1]
