"""`workbell backup` and `workbell restore`: online, checked, and never over a store that somebody has open."""

from __future__ import annotations

import errno
import json
import os
import signal
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import assert_refused, call
from tests.support.inside.cli import without_password
from tests.support.inside.features import platform
from tests.support.inside.stores import SqliteDatabase, SqliteStore, back_up, restore
from tests.support.inside.stores import sqlite_backup as backup_module
from tests.support.processes import Site, freeze, thaw
from tests.support.waiting import until
from workbell import InvalidUrl, StoreError, StoreUnavailable, Workbell


@pytest.fixture
def path(tmp_path: Path, sqlite_url: str) -> Path:
    return tmp_path / "workbell.db"


@pytest.fixture
def bell(sqlite_url: str) -> Iterator[Workbell]:
    with Workbell(sqlite_url) as bell:

        @bell.job
        def work(number: int = 0) -> None: ...

        yield bell


def quiet(_done: int, _total: int) -> None: ...


def file_of(bell: Workbell):
    assert isinstance(bell.store, SqliteStore)
    return bell.store.file


def ids_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = connection.execute("SELECT id FROM workbell_runs UNION ALL SELECT id FROM workbell_history")
        return {row[0] for row in found}


def fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every copy: SQLite says the same of a file that may not grow."""
    sound = backup_module._copy

    def into_little_space(source, copy, report) -> None:
        copy.execute("PRAGMA max_page_count = 2")
        sound(source, copy, report)

    monkeypatch.setattr(backup_module, "_copy", into_little_space)


class TestBackup:
    def test_a_private_file_that_stands_alone(self, tmp_path: Path, bell: Workbell, sqlite_url: str) -> None:
        run = bell.enqueue("work")
        answer = call(tmp_path, "backup", "copy.db", "--json", WORKBELL_URL=sqlite_url)
        assert answer.code == 0, answer
        told = json.loads(answer.out)
        copy = tmp_path / "copy.db"
        assert (told["path"], told["bytes"]) == ("copy.db", copy.stat().st_size)
        assert told["store_id"] == bell.store.identity()
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert copy.read_bytes()[18:20] == b"\1\1", "without a log"
        assert ids_in(copy) == {run.id}

    def test_an_existing_file_stays(self, tmp_path: Path, sqlite_url: str) -> None:
        (tmp_path / "copy.db").write_text("precious")
        refused = call(tmp_path, "backup", "copy.db", WORKBELL_URL=sqlite_url)
        assert_refused(refused, 1, "copy.db exists already; choose another name, or give --overwrite.")
        assert (tmp_path / "copy.db").read_text() == "precious"
        assert call(tmp_path, "backup", "copy.db", "--overwrite", WORKBELL_URL=sqlite_url).code == 0
        assert ids_in(tmp_path / "copy.db") == set()

    def test_a_file_system_without_hard_links(
        self, tmp_path: Path, bell: Workbell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As of most memory sticks and many network mounts; there, too, it never replaces a file."""
        run, copy = bell.enqueue("work"), tmp_path / "copy.db"

        def link(*_names: object) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        def link_too_late(*_names: object) -> None:
            copy.write_text("precious")
            link()

        monkeypatch.setattr(os, "link", link)
        back_up(file_of(bell), copy, overwrite=False, report=quiet)
        assert ids_in(copy) == {run.id}
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        copy.unlink()
        monkeypatch.setattr(os, "link", link_too_late)
        with pytest.raises(StoreError, match=r"copy\.db was made meanwhile; choose another name"):
            back_up(file_of(bell), copy, overwrite=False, report=quiet)
        assert copy.read_text() == "precious"
        assert not list(tmp_path.glob("*.part"))

    def test_no_empty_file_stays_if_it_cannot_be_moved(
        self, tmp_path: Path, bell: Workbell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_names: object) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        bell.enqueue("work")
        monkeypatch.setattr(os, "link", refuse)
        monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(StoreUnavailable, match=r"copy\.db: Operation not permitted"):
            back_up(file_of(bell), tmp_path / "copy.db", overwrite=False, report=quiet)
        assert not list(tmp_path.glob("copy.db*"))

    def test_never_over_the_store(self, tmp_path: Path, bell: Workbell, sqlite_url: str) -> None:
        run = bell.enqueue("work")
        refused = call(tmp_path, "backup", "workbell.db", "--overwrite", WORKBELL_URL=sqlite_url)
        assert_refused(refused, 1, "workbell.db is the store itself")
        assert bell.get(run.id).id == run.id

    def test_no_store_is_made_for_it(self, tmp_path: Path) -> None:
        refused = call(tmp_path, "backup", "copy.db", WORKBELL_URL="sqlite:///none.db")
        assert_refused(refused, 1, "There is no store to back up")
        assert not list(tmp_path.iterdir())

    def test_under_load(self, tmp_path: Path, path: Path, sqlite_url: str, monkeypatch) -> None:
        """Writers go on between its pages, and all that was acknowledged before it began is in it."""
        monkeypatch.setattr(backup_module, "PAGES", 8)
        with Site(tmp_path, sqlite_url) as site:
            writers = [site.start("stores", program="file_writers") for _ in range(2)]
            site.await_ready(*writers)
            site.open_gate("begin")

            def acknowledged() -> set[str]:
                return {run for one in site.events() if one["kind"] == "acknowledged" for run in one["runs"]}

            until(lambda: len(acknowledged()) > 100, "enqueues")
            before, during, reports = acknowledged(), set(), []

            def report(done: int, total: int) -> None:
                if not reports:  # in the middle of it
                    until_now = acknowledged()
                    until(lambda: len(acknowledged()) > len(until_now) + 100, "enqueues beside it")
                    during.update(acknowledged() - until_now)
                reports.append((done, total))

            with Workbell(sqlite_url) as bell:
                back_up(file_of(bell), tmp_path / "copy.db", overwrite=False, report=report)
            site.open_gate("end")
            assert [writer.wait(60) for writer in writers] == [0, 0], site.logged()
        assert reports[-1][0] == reports[-1][1] > 8
        copied = ids_in(tmp_path / "copy.db")
        assert before <= copied
        assert during - copied, "a picture of one moment"

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_interrupted_it_leaves_nothing(self, tmp_path: Path, path: Path, sqlite_url: str, number: int) -> None:
        with Site(tmp_path, sqlite_url) as site:
            process = site.start(str(tmp_path / "copy.db"), program="slow_backup")
            site.await_event("copying")
            assert list(tmp_path.glob("copy.db.*.part"))
            process.send_signal(number)
            assert process.wait(60) == 130, site.logged()
        assert not list(tmp_path.glob("copy.db*"))

    def test_a_link_stays_one(self, tmp_path: Path, bell: Workbell) -> None:
        run = bell.enqueue("work")
        (tmp_path / "disk").mkdir()
        (tmp_path / "disk" / "copy.db").touch()
        link = tmp_path / "copy.db"
        link.symlink_to(tmp_path / "disk" / "copy.db")
        assert back_up(file_of(bell), link, overwrite=True, report=quiet).path == link
        assert link.is_symlink()
        assert ids_in(tmp_path / "disk" / "copy.db") == {run.id}

    def test_a_full_disk(self, tmp_path: Path, bell: Workbell, monkeypatch) -> None:
        bell.enqueue("work")
        fill_the_disk(monkeypatch)
        with pytest.raises(StoreUnavailable, match=r"copy\.db: database or disk is full; free some space"):
            back_up(file_of(bell), tmp_path / "copy.db", overwrite=False, report=quiet)
        assert not list(tmp_path.glob("copy.db*"))

    def test_after_one_that_was_killed(self, tmp_path: Path, path: Path, sqlite_url: str) -> None:
        """Its unfinished copy goes; that of a living one stays."""
        with Site(tmp_path, sqlite_url) as site:
            killed = site.start(str(tmp_path / "copy.db"), program="slow_backup")
            site.await_event("copying")
            killed.kill()
            killed.wait(30)
        (dead,) = tmp_path.glob("copy.db.*.part")
        alive = tmp_path / f"copy.db.{os.getppid()}.part"
        alive.touch()
        other = tmp_path / "copy.db.mine.part"
        other.touch()
        assert call(tmp_path, "backup", "copy.db", WORKBELL_URL=sqlite_url).code == 0
        assert not dead.exists()
        assert sorted(tmp_path.glob("copy.db*")) == sorted([tmp_path / "copy.db", alive, other])

    def test_a_damaged_store_is_said(self, tmp_path: Path, path: Path, bell: Workbell, sqlite_url: str) -> None:
        bell.enqueue_many([("work", {"number": number}) for number in range(500)])
        bell.close()
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"\xff" * 8192)
        refused = call(tmp_path, "backup", "copy.db", WORKBELL_URL=sqlite_url)
        assert refused.code == 1
        assert not list(tmp_path.glob("copy.db*"))


seen_by_others = pytest.mark.skipif(
    not platform().open_file_locks, reason="without locks of open files nobody sees who has a SQLite file open"
)


class TestRestore:
    @pytest.fixture
    def copy(self, tmp_path: Path, bell: Workbell) -> Path:
        """A backup with one run; the store has another one as well."""
        bell.enqueue("work")
        back_up(file_of(bell), tmp_path / "copy.db", overwrite=False, report=quiet)
        bell.enqueue("work")
        return tmp_path / "copy.db"

    def test_in_place_of_the_file(
        self, tmp_path: Path, path: Path, bell: Workbell, copy: Path, sqlite_url: str
    ) -> None:
        database = bell.store.database
        assert isinstance(database, SqliteDatabase)
        before = database.position()
        path.chmod(0o640)
        bell.close()
        answer = call(tmp_path, "restore", "copy.db", "--json", WORKBELL_URL=sqlite_url)
        assert answer.code == 0, answer
        told = json.loads(answer.out)
        assert ids_in(path) == ids_in(copy)
        assert len(ids_in(path)) == 1
        assert len(ids_in(Path(told["before"]))) == 2, "what was there is kept"
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        after = database.position()  # by the same process, which had closed it
        assert after.identity == f"{told['incarnation']}/{told['store_id']}" != before.identity
        assert call(tmp_path, "restore", "--check", WORKBELL_URL=sqlite_url).code == 0

    @seen_by_others
    @pytest.mark.parametrize("frozen", [False, True], ids=["running", "stopped"])
    def test_not_while_a_process_has_it_open(
        self, tmp_path: Path, path: Path, bell: Workbell, copy: Path, sqlite_url: str, frozen: bool
    ) -> None:
        bell.close()
        before = ids_in(path)
        with Site(tmp_path, sqlite_url) as site:
            process = site.start("stores", program="file_writers")
            site.await_ready(process)
            if frozen:
                freeze(process, path)
            refused = call(tmp_path, "restore", "copy.db", WORKBELL_URL=sqlite_url)
            assert_refused(refused, 69, f"is in use by process {process.pid}; stop every process of this store")
            if frozen:
                thaw(process)
        assert ids_in(path) == before
        assert not list(tmp_path.glob("*.part"))
        assert not list(tmp_path.glob("*.before-*"))

    def test_not_while_another_program_has_it_open(
        self, tmp_path: Path, path: Path, bell: Workbell, copy: Path, sqlite_url: str
    ) -> None:
        bell.close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("SELECT count(*) FROM workbell_runs").fetchone()
            refused = call(tmp_path, "restore", "copy.db", WORKBELL_URL=sqlite_url)
            assert_refused(refused, 69, "is in use by")
        assert call(tmp_path, "restore", "copy.db", WORKBELL_URL=sqlite_url).code == 0

    @seen_by_others
    def test_after_the_file_was_lost(self, tmp_path: Path, path: Path, bell: Workbell, copy: Path) -> None:
        """A backup was moved over the running store: its log is still there, and must not be applied to anything."""
        expected = ids_in(copy)
        moved = tmp_path / "moved.db"
        moved.write_bytes(copy.read_bytes())
        moved.replace(path)
        with pytest.raises(StoreError, match="was replaced"):
            bell.enqueue("work")
        with pytest.raises(StoreError, match="is in use"):
            restore(path, copy, other_store=False, report=quiet)
        bell.close()
        assert path.with_name("workbell.db-wal").stat().st_size, "left by the store that was there"
        done = restore(path, copy, other_store=False, report=quiet)
        assert done.before is not None
        assert done.before.with_name(done.before.name + "-wal").exists()
        assert ids_in(path) == expected
        with Workbell(f"sqlite:///{path}") as again:
            assert {run.id for run in again.runs()} == expected

    def test_after_a_crash_and_the_loss_of_the_file(
        self, tmp_path: Path, path: Path, bell: Workbell, copy: Path, sqlite_url: str
    ) -> None:
        """The log that the crash left must not be applied to the backup."""
        expected = ids_in(copy)
        bell.enqueue_many([("work", {"number": number}) for number in range(3000)])
        bell.close()
        with Site(tmp_path, sqlite_url) as site:
            writer = site.start("stores", program="file_writers")
            site.open_gate("begin")
            site.await_event("acknowledged")
            writer.kill()
            writer.wait(30)
        log = path.with_name("workbell.db-wal")
        assert log.stat().st_size
        path.unlink()
        answer = call(tmp_path, "restore", "copy.db", "--json", WORKBELL_URL=sqlite_url)
        assert answer.code == 0, answer
        assert json.loads(answer.out)["before"] is None
        assert not log.exists()
        assert list(tmp_path.glob("workbell.db.before-*-wal")), "kept"
        assert ids_in(path) == expected
        assert call(tmp_path, "restore", "--check", WORKBELL_URL=sqlite_url).code == 0

    @pytest.mark.parametrize("other_name", [False, True], ids=["link", "file"])
    def test_through_a_link(self, tmp_path: Path, path: Path, bell: Workbell, copy: Path, other_name: bool) -> None:
        (tmp_path / "release").mkdir()
        link = tmp_path / "release" / "jobs.db"
        link.symlink_to(path)
        bell.close()
        with Workbell(f"sqlite:///{path if other_name else link}") as user:
            user.store.check()
            with pytest.raises(StoreError, match="is in use"):
                restore(link, copy, other_store=False, report=quiet)
        done = restore(link, copy, other_store=False, report=quiet)
        assert link.is_symlink()
        assert done.before is not None
        assert done.before.parent == tmp_path
        assert ids_in(link) == ids_in(path) == ids_in(copy)
        assert sorted(link.parent.iterdir()) == [link]

    def test_a_full_disk(self, path: Path, bell: Workbell, copy: Path, monkeypatch) -> None:
        bell.close()
        before = ids_in(path)
        fill_the_disk(monkeypatch)
        with pytest.raises(StoreUnavailable, match=r"workbell\.db: database or disk is full; free some space"):
            restore(path, copy, other_store=False, report=quiet)
        assert ids_in(path) == before
        assert not list(path.parent.glob("*.part*"))

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
    def test_by_root_where_the_file_was_deleted(self, tmp_path: Path, copy: Path) -> None:
        """The service's user must be able to use it."""
        folder = tmp_path / "service"
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        restore(folder / "workbell.db", copy, other_store=False, report=quiet)
        for name in ("workbell.db", "workbell.db-lock"):
            found = (folder / name).stat()
            assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65534, 0o600)

    def test_where_no_store_is(self, tmp_path: Path, path: Path, bell: Workbell, copy: Path) -> None:
        url = f"sqlite:///{tmp_path}/new.db"
        assert call(tmp_path, "restore", "copy.db", WORKBELL_URL=url).code == 0
        assert ids_in(tmp_path / "new.db") == ids_in(copy)
        assert stat.S_IMODE((tmp_path / "new.db").stat().st_mode) == 0o600

    def test_not_over_another_store(self, tmp_path: Path, copy: Path) -> None:
        url = f"sqlite:///{tmp_path}/other.db"
        assert call(tmp_path, "migrate", WORKBELL_URL=url).code == 0
        assert_refused(
            call(tmp_path, "restore", "copy.db", WORKBELL_URL=url), 1, "is another store than", "--other-store"
        )
        assert call(tmp_path, "restore", "copy.db", "--other-store", WORKBELL_URL=url).code == 0

    @pytest.mark.parametrize("content", ["text", "other tables", "damaged", "newer"])
    def test_no_backup(
        self, tmp_path: Path, path: Path, bell: Workbell, copy: Path, sqlite_url: str, content: str
    ) -> None:
        bell.close()
        before = ids_in(path)
        bad = tmp_path / "bad.db"
        if content == "text":
            bad.write_text("not a database " * 1000)
        elif content == "other tables":
            with closing(sqlite3.connect(bad)) as connection:
                connection.execute("CREATE TABLE orders (id)")
        else:
            bad.write_bytes(copy.read_bytes())
        if content == "damaged":
            os.truncate(bad, bad.stat().st_size // 2)
        if content == "newer":
            with closing(sqlite3.connect(bad, isolation_level=None)) as connection:
                connection.execute(
                    "UPDATE workbell_meta SET value = '999' WHERE name LIKE 's%version' OR name LIKE 'old%'"
                )
        refused = call(tmp_path, "restore", "bad.db", WORKBELL_URL=sqlite_url)
        assert refused.code in (1, 78), refused
        assert refused.error.startswith("workbell: bad.db") or "bad.db" in refused.error
        assert ids_in(path) == before
        assert not list(tmp_path.glob("*.part*"))

    @seen_by_others
    def test_nobody_opens_it_meanwhile(self, path: Path, bell: Workbell, copy: Path, monkeypatch) -> None:
        """Between the exchange and the end of the command."""
        bell.close()
        said: list[str] = []
        sound = backup_module._set_aside

        def look(place: Path) -> Path:
            def use() -> None:
                with Workbell(f"sqlite:///{path}") as other:
                    try:
                        other.runs(limit=1)
                    except StoreError as error:
                        said.append(str(error))

            thread = threading.Thread(target=use)
            thread.start()
            thread.join(60)
            return sound(place)

        monkeypatch.setattr(backup_module, "_set_aside", look)
        restore(path, copy, other_store=False, report=quiet)
        assert said == [f"{path} is being restored from a backup; try again when that has ended."]
        assert len(ids_in(path)) == 1


class TestPostgresql:
    def test_its_own_commands(self, tmp_path: Path) -> None:
        url = "postgresql://ada:secret@db.example:5433/jobs?sslmode=require&password=secret"
        answer = call(tmp_path, "backup", "jobs.dump", WORKBELL_URL=url)
        assert answer.code == 1, "a script must not take it for a backup"
        shown = "'postgresql://ada@db.example:5433/jobs?sslmode=require'"
        assert f"pg_dump --format=custom --file=jobs.dump {shown}\n" in answer.out
        assert f"pg_basebackup --dbname={shown}" in answer.out
        assert "Nothing was backed up" in answer.error
        answer = call(tmp_path, "restore", "jobs.dump", "--json", WORKBELL_URL=url)
        assert answer.code == 1
        commands = json.loads(answer.out)["commands"]
        assert commands["an empty database"] == f"pg_restore --exit-on-error --no-owner --dbname={shown} jobs.dump"
        assert "secret" not in answer.out + answer.error

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("postgresql://ada:se#cret@box/jobs?pooler=session", "postgresql://ada@box/jobs"),
            ("postgresql://ada:se?cret@box/jobs?sslmode=require", "postgresql://ada@box/jobs?sslmode=require"),
            ("postgresql://:secret@box/jobs", "postgresql://box/jobs"),
            (
                "postgresql:///jobs?user=ada&password=secret&sslpassword=secret&prepare_threshold=0"
                "&application_name=my%20app&options=-c%20a%3Db",
                "postgresql:///jobs?user=ada&application_name=my%20app&options=-c%20a%3Db",
            ),
            ("postgresql://ada@[::1]:5433,box/jobs", "postgresql://ada@[::1]:5433,box/jobs"),
        ],
    )
    def test_no_secret_in_them_and_nothing_of_ours(self, url: str, shown: str) -> None:
        assert without_password(url) == shown

    @pytest.mark.parametrize("password", ["se@cret", "se/cret", "12/cret", "se?cr/et", "se?a=cr/et"])
    def test_a_password_that_cannot_be_told_from_the_rest(self, password: str) -> None:
        with pytest.raises(InvalidUrl) as caught:
            without_password(f"postgresql://ada:{password}@box/jobs")
        assert "cr" not in str(caught.value)

    def test_a_role_that_may_not_see_the_standbys(self, tmp_path: Path, postgres_url: str) -> None:
        import psycopg

        with psycopg.connect(postgres_url) as connection:
            connection.execute("REVOKE SELECT ON pg_stat_replication FROM PUBLIC")
            connection.execute("CREATE ROLE blind LOGIN")
            connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO blind")
        url = postgres_url.replace("//workbell@", "//blind@")
        try:
            for arguments in (["doctor"], ["restore", "--check"]):
                answer = call(tmp_path, *arguments, WORKBELL_URL=url, COLUMNS="300")
                assert answer.code == 0, answer
                assert "not visible to this role" in answer.out
        finally:
            with psycopg.connect(postgres_url) as connection:
                connection.execute("DROP OWNED BY blind")
                connection.execute("DROP ROLE blind")

    def test_a_restored_store_is_checked(self, tmp_path: Path, postgres_url: str) -> None:
        answer = call(tmp_path, "restore", "--check", "--json", WORKBELL_URL=postgres_url)
        assert answer.code == 0, answer
        told = json.loads(answer.out)
        assert {"identity", "tables", "schema", "live runs", "schedules"} <= {one["what"] for one in told["findings"]}

    def test_a_table_that_is_missing(self, tmp_path: Path, postgres_url: str) -> None:
        import psycopg

        with psycopg.connect(postgres_url) as connection:
            connection.execute("DROP TABLE workbell_audit CASCADE")
        answer = call(tmp_path, "restore", "--check", WORKBELL_URL=postgres_url)
        assert answer.code != 0
        assert "workbell_audit" in answer.out

    def test_without_tables(self, tmp_path: Path, empty_postgres_url: str) -> None:
        answer = call(tmp_path, "restore", "--check", WORKBELL_URL=empty_postgres_url)
        assert_refused(answer, 1, "There are no tables of Workbell; was the backup restored into this database?")


def test_a_file_or_a_check(tmp_path: Path, sqlite_url: str) -> None:
    for arguments in (["restore"], ["restore", "copy.db", "--check"]):
        answer = call(tmp_path, *arguments, WORKBELL_URL=sqlite_url)
        assert answer.code == 2
        assert "Give the backup to restore, or --check" in answer.error
