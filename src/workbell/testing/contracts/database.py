"""Contract of a database: what an SQL engine must do for the parts of a store.

On the database of a store: `pytest --pyargs workbell.testing.contracts.database --workbell-store 'mydb://test_{new}'`.
Or subclass `DatabaseContract` and supply a fixture `database` that gives one without any tables.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn
from uuid import uuid4

import pytest

from workbell.errors import WorkbellError, WrongConnection
from workbell.model.ids import new_id
from workbell.settings import safe_url
from workbell.stores import migrate
from workbell.stores.database import Conflict, Database, Rows, Statement, read_rows, write_rows
from workbell.stores.notifications.notifications import NOTIFICATION
from workbell.stores.opening import open_store
from workbell.stores.queries import migrations
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import START, after

ODD = [
    "",
    " ",
    "it's",
    'a "b"',
    "a\\b",
    "\\N",
    "\\.",
    "NULL",
    "{1,2}",
    "[1]",
    "100 %",
    ":name",
    "tab\tline\nend",
    "été 🎉",
]


def note(name: str, value: str = "x") -> Statement:
    return Statement("note_service", {"name": f"service/{name}", "value": value})


def names(database: Database) -> set[str]:
    return {row[0].removeprefix("service/") for row in read_rows(database, "services")}


def agent(name: str, agent_id: str) -> Statement:
    values: dict[str, Any] = dict.fromkeys(("jobs", "metrics", "seen_at"))
    values |= {"id": agent_id, "name": name, "created_at": START, "tenant": "default", "labels": "[]"}
    return Statement("put_agent", values | {"version": "", "host": "", "enabled": True})


def notification(text: str, user: int | None = 1, at: float = 0) -> list[Any]:
    return [new_id(), "default", user, text, after(at), None]


def insert_notifications(*rows: list[Any]) -> Statement:
    return Statement("add_notifications", {"rows": Rows(NOTIFICATION, rows)})


def notifications_of(database: Database) -> list[tuple[Any, ...]]:
    found = read_rows(database, "new_notifications", after="00000000-0000-0000-0000-000000000000", limit=100_000)
    return [tuple(row) for row in found]


class DatabaseContract:
    """Batches: in order, whole or not at all, with the answers afterwards."""

    def test_the_tables_are_there_at_the_first_use(self, database: Database) -> None:
        assert names(database) == set()

    def test_reading_the_tables_makes_none(self, database: Database) -> None:
        assert database.tables() is None
        database.ready()
        found = database.tables()
        assert found is not None
        assert found.version == migrate.NEWEST
        assert found.store_id

    def test_migrating_says_what_ran_and_does_nothing_twice(self, database: Database) -> None:
        assert database.migrate() == [name for _, name, _ in migrations(database.dialect.engine)]
        made = database.tables()
        assert database.migrate() == []
        assert database.tables() == made

    def test_tables_are_made_once_by_many_at_once(self, database: Database) -> None:
        with ThreadPoolExecutor(4) as threads:
            done = list(threads.map(lambda _: database.migrate(), range(4)))
        assert sorted(map(bool, done)) == [False, False, False, True]
        assert names(database) == set()

    def test_answers_come_in_the_order_of_the_statements(self, database: Database) -> None:
        """And each statement sees what those before it have written."""
        answers = database.write([note("a"), Statement("services"), note("b"), Statement("services")])
        assert [len(answer) for answer in answers] == [0, 1, 0, 2]
        assert [list(row) for row in answers[1]] == [["service/a", "x"]]
        first, second = database.read([Statement("services"), Statement("services")])
        assert sorted(map(list, first)) == sorted(map(list, second)) == [["service/a", "x"], ["service/b", "x"]]

    def test_nothing_is_asked_for(self, database: Database) -> None:
        assert database.read([]) == []
        assert database.write([]) == []

    @pytest.mark.parametrize("index", [0, 1, 2])
    def test_a_conflict_undoes_all_of_it(self, database: Database, index: int) -> None:
        """Wherever it is in the batch; and the next one works."""
        database.write([agent("taken", new_id())])
        batch = [note("a"), note("b")]
        batch.insert(index, agent("taken", new_id()))
        with pytest.raises(Conflict):
            database.write(batch)
        assert names(database) == set()
        database.write([note("c")])
        assert names(database) == {"c"}

    @pytest.mark.parametrize("index", [0, 1, 2])
    def test_a_guard_that_says_no_undoes_all_of_it(self, database: Database, index: int) -> None:
        """And the conflict names it."""
        database.write([note("there")])
        batch = [note("a"), note("b")]
        batch.insert(index, Statement("services", exactly=7))
        with pytest.raises(Conflict) as caught:
            database.write(batch)
        assert caught.value.query == "services"
        assert names(database) == {"there"}
        answers = database.write([Statement("services", exactly=1), note("c")])
        assert [len(answer) for answer in answers] == [1, 0]
        assert names(database) == {"there", "c"}

    def test_a_guard_that_is_alone_says_no_too(self, database: Database) -> None:
        with pytest.raises(Conflict):
            database.write([note("a")._replace(exactly=1)])
        assert names(database) == set()

    def test_a_statement_that_is_alone_conflicts_too(self, database: Database) -> None:
        write_rows(database, "put_agent", **agent("taken", new_id()).values)
        with pytest.raises(Conflict):
            write_rows(database, "put_agent", **agent("taken", new_id()).values)

    @pytest.mark.parametrize("text", ODD)
    def test_texts_come_back_as_they_were(self, database: Database, text: str) -> None:
        """As a value, and as one of many rows."""
        write_rows(database, "note_service", name="service/odd", value=text)
        database.write([insert_notifications(notification(text), notification("beside"))])
        assert [row[1] for row in read_rows(database, "services")] == [text]
        assert [row[3] for row in notifications_of(database)] == [text, "beside"]

    def test_numbers_of_64_bits_and_nothing(self, database: Database) -> None:
        users = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), None]
        database.write([insert_notifications(*(notification(str(user), user) for user in users))])
        assert [row[2] for row in notifications_of(database)] == users

    def test_times_to_the_microsecond(self, database: Database) -> None:
        at = after(0.123456)
        database.write([insert_notifications(notification("now", at=0.123456))])
        (row,) = notifications_of(database)
        assert (row[4], row[4].utcoffset()) == (at, at.utcoffset())

    def test_many_rows_at_once(self, database: Database) -> None:
        database.write([insert_notifications(*(notification(str(number)) for number in range(5000)))])
        assert [row[3] for row in notifications_of(database)] == [str(number) for number in range(5000)]

    def test_a_list_as_a_condition(self, database: Database) -> None:
        rows = [notification(str(number)) for number in range(4)]
        database.write([insert_notifications(*rows)])
        values = {"tenant": "default", "user_id": 1, "now": START}
        read = write_rows(database, "read_some", ids=[rows[1][0], rows[3][0], new_id()], **values)
        assert {row[0] for row in read} == {rows[1][0], rows[3][0]}
        assert write_rows(database, "read_some", ids=[], **values) == []

    def test_writers_at_once(self, database: Database) -> None:
        """Each batch is whole for concurrent readers."""

        def write(number: int) -> None:
            database.write([note(f"{number} one"), note(f"{number} two")])

        with ThreadPoolExecutor(4) as threads:
            writing = [threads.submit(write, number) for number in range(20)]
            for _ in range(20):
                assert len(names(database)) % 2 == 0
            for one in writing:
                one.result(30)
        assert len(names(database)) == 40

    def test_a_connection_that_is_none_of_its_own_is_refused(self, database: Database) -> None:
        """Whether it can join a caller's transaction or not."""
        database.ready()
        with pytest.raises(WrongConnection, match=r"connection="):
            database.borrow(object())

    def test_a_write_is_hinted_at(self, database: Database) -> None:
        """Polling will do. The writer gives the hint."""
        database.ready()
        watch = database.watch()
        try:
            while watch.wait(0.05):  # what may have been pending, such as the watch's own beginning
                pass
            database.write([note("a")])
            database.wake()
            assert watch.wait(20)
        finally:
            watch.close()

    def test_an_interrupt_ends_a_wait(self, database: Database) -> None:
        database.ready()
        watch = database.watch()
        stop = threading.Event()

        def listen() -> None:
            while not stop.is_set():
                watch.wait(60)

        with ThreadPoolExecutor(1) as threads:
            listening = threads.submit(listen)
            stop.set()
            watch.interrupt()
            listening.result(20)
        watch.close()


class TestDatabase(DatabaseContract):
    """The contract on the database of a store that is named by its URL; a part of no other test run."""

    @pytest.fixture
    def database(
        self,
        request: pytest.FixtureRequest,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Iterator[Database]:
        """A file with a relative name lies in a folder that is removed."""
        folder = tmp_path_factory.mktemp("workbell-contract")  # not `tmp_path`: pytest.exit here would break its end
        monkeypatch.chdir(folder)
        store = _open(request.config.getoption("workbell_store"))
        yield store.database
        store.close()
        monkeypatch.undo()
        shutil.rmtree(folder, ignore_errors=True)


def _open(url: str | None) -> SqlStore:
    if not url:
        _end("No store is named to test: give --workbell-store URL, such as 'mydb://host/test_{new}'.")
    try:
        store = open_store(url.replace("{new}", uuid4().hex))
        if not isinstance(store, SqlStore):
            _end(f"{safe_url(url)} is no SqlStore: it has no database to test; run workbell.testing.contracts on it.")
        if store.database.tables() is not None:  # it may be one that somebody uses
            _end(f"{safe_url(url)} has tables; put {{new}} into the URL, so that each test has a database of its own.")
    except WorkbellError as error:
        _end(str(error))
    return store


def _end(why: str) -> NoReturn:
    """End the whole run: the next test would say the same."""
    pytest.exit(why, returncode=pytest.ExitCode.USAGE_ERROR)
