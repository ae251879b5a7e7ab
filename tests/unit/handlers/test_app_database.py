"""A3: the application's own database is opened by its URL, and the store's own file is refused by any name."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

import psycopg
import pytest

from workbell.errors import DatabaseUnavailable, SettingsError, WorkbellError
from workbell.handlers.app_database import AppDatabase, DatabaseUse, check_database


def test_a_file_is_made_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with contextlib.closing(AppDatabase(f"sqlite:///{path}").open()) as connection:
        assert isinstance(connection, sqlite3.Connection)
        connection.execute("CREATE TABLE t (x)")
        assert path.exists()


def test_a_url_that_cannot_be_read_is_not_quoted() -> None:
    with pytest.raises(
        SettingsError, match=r"ctx\.db: the setting `database` cannot be read: .*; write it as"
    ) as caught:
        AppDatabase("postgresql://user:can ary@127.0.0.1/none").open()
    assert "ary" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("url", ["mysql://host/db?user=u&password=hunter2", "sqlite:///app.sqlite?key=hunter2"])
def test_parameters_are_not_quoted(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_database(url, None)
    assert "hunter2" not in str(caught.value)


def test_postgres(empty_postgres_url: str) -> None:
    connection = AppDatabase(empty_postgres_url).open()
    assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not connection.autocommit
    connection.close()


@pytest.mark.parametrize("form", ["itself", "relative", "dots", "symbolic link", "hard link", "not there yet"])
def test_the_stores_file_is_refused(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "workbell.db"
    if form != "not there yet":
        store.touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    paths = {"relative": "workbell.db", "dots": f"{tmp_path}/folder/../workbell.db"}
    path = paths.get(form, str(store))
    if form.endswith("link"):
        path = str(tmp_path / "app.db")
        (os.symlink if form == "symbolic link" else os.link)(store, path)
    with pytest.raises(SettingsError, match="the store's own file"):
        AppDatabase(f"sqlite:///{path}", store).open()
    AppDatabase(f"sqlite:///{tmp_path}/other.db", store).open().close()


@pytest.mark.parametrize(
    "url",
    ["app.db", "sqlite://app.db", "sqlite:///", "sqlite:///:memory:", "sqlite:///a.db?mode=ro", "mysql://h/d", ""],
)
def test_urls_that_cannot_be_read(url: str) -> None:
    with pytest.raises(SettingsError, match=r"sqlite:///app\.db or postgresql://host/database"):
        AppDatabase(url).open()
    with pytest.raises(SettingsError, match=r"sqlite:///app\.db or postgresql://host/database"):
        check_database(url, None)


def test_what_cannot_be_opened_is_said_without_secrets(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no folder"):
        AppDatabase(f"sqlite:///{tmp_path}/missing/app.db").open()
    with pytest.raises(DatabaseUnavailable, match="cannot be opened"):
        AppDatabase(f"sqlite:///{tmp_path}").open()
    with pytest.raises(DatabaseUnavailable, match="cannot be reached") as caught:
        AppDatabase("postgresql://user:secret@127.0.0.1:1/none?password=secret").open()
    assert "secret" not in str(caught.value)
    with pytest.raises(SettingsError) as refused:
        AppDatabase("mysql://user:secret@host/none").open()
    assert "secret" not in str(refused.value)


class TestUse:
    """One connection for one call of a handler."""

    @pytest.fixture
    def use(self, tmp_path: Path) -> DatabaseUse:
        self.path = tmp_path / "app.db"
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.execute("CREATE TABLE t (x)")
        return DatabaseUse(AppDatabase(f"sqlite:///{self.path}").open)

    def rows(self) -> int:
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])

    def test_the_same_each_time(self, use: DatabaseUse) -> None:
        assert use.connection() is use.connection()
        use.roll_back()

    @pytest.mark.parametrize("keep", [True, False])
    def test_ends_once(self, use: DatabaseUse, keep: bool) -> None:
        connection = use.connection()
        connection.execute("INSERT INTO t VALUES (1)")
        (use.commit if keep else use.roll_back)()
        use.roll_back()
        assert self.rows() == int(keep)
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")
        with pytest.raises(WorkbellError, match="the handler has ended"):
            use.connection()

    def test_one_that_the_handler_closed(self, use: DatabaseUse) -> None:
        with contextlib.closing(use.connection()) as connection:
            connection.execute("INSERT INTO t VALUES (1)")
            connection.commit()
        use.commit()
        assert self.rows() == 1

    def test_a_psycopg_connection_as_a_block(self, empty_postgres_url: str) -> None:
        """Which commits it and closes it."""
        use = DatabaseUse(AppDatabase(empty_postgres_url).open)
        with use.connection() as connection:
            connection.execute("CREATE TABLE t (x int)")
        use.commit()
        with psycopg.connect(empty_postgres_url) as other:
            assert other.execute("SELECT count(*) FROM t").fetchone() == (0,)

    def test_a_commit_that_fails(self, use: DatabaseUse, empty_postgres_url: str) -> None:
        postgres = DatabaseUse(AppDatabase(empty_postgres_url).open)
        connection = postgres.connection()
        connection.execute("CREATE TABLE t (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        connection.execute("INSERT INTO t VALUES (1), (1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            postgres.commit()
        assert connection.closed
        assert self.rows() == 0

    def test_rolling_back_never_raises(self, empty_postgres_url: str) -> None:
        use = DatabaseUse(AppDatabase(empty_postgres_url).open)
        connection = use.connection()
        with psycopg.connect(empty_postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        use.roll_back()
        assert connection.closed
