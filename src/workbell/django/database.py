"""Database port on Django's own connection: every batch runs on the connection that the calling thread has now.

So a run is part of the transaction that is open there, and a read sees what that transaction has not committed yet.
Workers do not use it: they have connections of their own (see bells.py).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from django.db import DatabaseError, IntegrityError, connections, router, transaction
from django.db.backends.base.creation import TEST_DATABASE_PREFIX

from workbell.errors import SchemaMismatch, StoreError, WrongConnection
from workbell.model.clock import Clock
from workbell.process.platform import boot_clock
from workbell.stores.callers import NO_CHECKPOINT, Caller, Values, text_of
from workbell.stores.database import Batch, Conflict, Dialect, Row, Statement, Tables, check_count
from workbell.stores.migrate import PostgresSchema, SchemaTables, check, read_tables
from workbell.stores.migrate import run as run_migrations
from workbell.stores.session import Session

if TYPE_CHECKING:
    from workbell.stores.sqlite.tables import SqliteTables

CHANNEL_HINT = "SELECT pg_notify('workbell', '')"
LABEL = "workbell"  # of the application, in `manage.py migrate` and DATABASE_ROUTERS
SUPPORTED = ("sqlite", "postgresql")

Answer = tuple[Sequence[str], list[Row]]  # the names of the columns, and the rows


class WallClock:
    """Clock of this machine, as Django's `timezone.now()` reads it. Nothing is measured in the background: a thread of
    its own would have another connection."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.boottime = boot_clock()

    def now(self) -> datetime:
        return datetime.now(UTC)


class DjangoDatabase:
    """The database of one alias of DATABASES, as the parts of a store see it."""

    connections = 1  # of a thread

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.clock: Clock = WallClock()
        self._checked: object = None  # NAME of the database whose tables were found: tests have another one

    @property
    def connection(self) -> Any:
        return connections[self.alias]

    @property
    def is_sqlite(self) -> bool:
        return bool(self.connection.vendor == "sqlite")

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"DATABASES[{self.alias!r}]"

    @property
    def is_of_tests(self) -> bool:
        """Whether a test runner has made it: in memory, or with the name that Django gives it."""
        if self.is_sqlite and self.connection.is_in_memory_db():
            return True
        entry = self.connection.settings_dict
        own, given = str(entry["NAME"]), entry.get("TEST", {}).get("NAME")
        return Path(own).name.startswith(TEST_DATABASE_PREFIX) or (given is not None and own.startswith(str(given)))

    @property
    def dialect(self) -> Dialect:
        if self.is_sqlite:
            from workbell.stores.sqlite.dialect import SQLITE

            return SQLITE
        self._refuse_other_engines()
        from workbell.stores.postgres.dialect import POSTGRES

        return POSTGRES

    def _refuse_other_engines(self) -> None:
        vendor = self.connection.vendor
        if vendor not in SUPPORTED:
            raise StoreError(
                f"DATABASES[{self.alias!r}] is {vendor}, and Workbell keeps runs in SQLite or PostgreSQL; name another "
                'database by OPTIONS["database"], or a store by OPTIONS["url"].'
            )

    # Batches

    def read(self, batch: Batch) -> list[list[Row]]:
        self.ready()
        return self._execute(batch)

    def write(self, batch: Batch, *, first: bool = False, lock: float | None = None) -> list[list[Row]]:
        """Write a batch: as a transaction in autocommit, as a savepoint inside `atomic()`."""
        self.ready()
        if not self.is_sqlite and all(statement.query == "add_lanes" for statement in batch):
            return self._write_apart(batch)
        return self._write(batch)

    def _write(self, batch: Batch) -> list[list[Row]]:
        try:
            with transaction.atomic(using=self.alias):
                return self._execute(batch)
        except IntegrityError as error:
            raise Conflict(str(error)) from error

    def _write_apart(self, batch: Batch) -> list[list[Row]]:
        """Commit new lanes on a connection of their own: made inside a long transaction, they would block every other
        process that makes the same ones, and a rollback would take away what this process remembers as made."""
        apart = self._connect_apart()
        try:
            answers = [_answer(apart, statement) for statement in batch]
        finally:
            apart.close()
        return answers

    def _connect_apart(self) -> Any:
        """A connection in autocommit, whatever DATABASES say, and of no pool: callers that hold the pool's connections
        would wait for each other."""
        entry = self.connection.settings_dict
        options = {name: value for name, value in entry.get("OPTIONS", {}).items() if name != "pool"}
        return type(self.connection)(entry | {"AUTOCOMMIT": True, "OPTIONS": options}, self.alias)

    def _execute(self, batch: Batch) -> list[list[Row]]:
        connection = self.connection
        return [_answer(connection, statement) for statement in batch]

    def borrow(self, connection: Any) -> Caller:
        """Django's connection, in autocommit too: `enqueue` opens a transaction there."""
        if connection is not self.connection:
            raise WrongConnection(
                f"connection=: the store is Django's connection {self.alias!r} of this thread; leave connection= out."
            )
        if self.is_sqlite and not connection.is_in_memory_db():
            with connection.cursor() as cursor:
                cursor.execute(NO_CHECKPOINT)
        return Caller(lambda sql, values: _fetch(connection, sql, values)[1], _bind(connection))

    async def aborrow(self, connection: Any) -> NoReturn:
        raise WrongConnection("connection=: Django's connections are synchronous; call it with sync_to_async.")

    # Tables

    def ready(self, *, joining: bool = False) -> None:
        name = self.connection.settings_dict["NAME"]
        if self._checked == name and name is not None:
            return
        if not check(self._schema(), self.place):
            raise SchemaMismatch(f"{self.place} has no tables of Workbell; {self._remedy()}.")
        self._checked = name

    def tables(self) -> Tables | None:
        return read_tables(self._schema())

    def migrate(self) -> list[str]:
        """Bring the tables up to date, inside the transaction that is open here, or in one of its own."""
        self._refuse_other_engines()
        self._checked = None
        if self.is_sqlite:
            return self._sqlite_tables().migrate()
        with transaction.atomic(using=self.alias):
            return run_migrations(PostgresSchema(DjangoSession(self.connection)))

    def _schema(self) -> SchemaTables:
        self._refuse_other_engines()
        return self._sqlite_tables() if self.is_sqlite else PostgresSchema(DjangoSession(self.connection))

    def _sqlite_tables(self) -> SqliteTables:
        from workbell.stores.sqlite.tables import SqliteTables

        return SqliteTables(self._execute, self._write)

    def _remedy(self) -> str:
        if not router.allow_migrate(self.alias, LABEL):
            return (
                f"DATABASE_ROUTERS forbid them: allow the app {LABEL} there and run `manage.py migrate`, "
                "or run `manage.py workbell migrate`"
            )
        using = "" if self.alias == "default" else f" --database={self.alias}"
        return f"run `manage.py migrate {LABEL}{using}`"

    # Hints

    hints = False

    def watch(self) -> PollingWatch:
        return PollingWatch()

    def wake(self) -> None:
        """Give workers a hint when the transaction is committed; on SQLite they see the file change."""
        if self.is_sqlite:
            return
        connection = self.connection
        if connection.in_atomic_block or connection.get_autocommit():
            if not self._has_hint(connection):
                transaction.on_commit(self._send_hint, using=self.alias, robust=True)
            return
        with connection.cursor() as cursor:  # Django refuses hooks here; PostgreSQL sends at the commit by itself
            cursor.execute(CHANNEL_HINT)

    def wake_later(self) -> None:
        self.wake()

    def _has_hint(self, connection: Any) -> bool:
        """Whether one is registered that the same rollbacks would drop: one is enough for all enqueues of a block."""
        return any(
            hook == self._send_hint and savepoints == set(connection.savepoint_ids)
            for savepoints, hook, *_ in connection.run_on_commit
        )

    def _send_hint(self) -> None:
        with suppress(DatabaseError), self.connection.cursor() as cursor:
            cursor.execute(CHANNEL_HINT)

    # Upkeep

    def limit_connections(self, count: int) -> None:
        """Django has one for each thread."""

    def tidy(self) -> None:
        """Workers do that, on connections of their own."""

    def position(self) -> None:
        """Asked by workers only, which have a database of their own."""

    def measure_time(self) -> None:
        """It goes by the clock of this machine."""

    def describe(self) -> list[tuple[str, str, str]]:
        return [("ok", "Django", f"{self.place} ({self.connection.vendor}), on Django's own connection")]

    def close(self) -> None:
        """The connections are Django's."""


class DjangoSession(Session):
    """Queries on Django's connection, for migrations."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self.execute(Statement(query, values))

    def execute(self, statement: Statement) -> list[Row]:
        return _answer(self._connection, statement)

    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        return _answer(self._connection, Statement("", values, text=sql))


class PollingWatch:
    """Watch without hints: callers poll."""

    def __init__(self) -> None:
        self._interrupted = threading.Event()

    def wait(self, timeout: float) -> bool:
        return self._interrupted.wait(timeout)

    def interrupt(self) -> None:
        self._interrupted.set()

    def close(self) -> None:
        """There is nothing to close."""


def _bind(connection: Any) -> Callable[[Statement], Sequence[Any]]:
    if connection.vendor == "sqlite":
        from workbell.stores.sqlite.dialect import SQLITE

        return lambda statement: SQLITE.bind(statement)[1:3]
    from workbell.stores.postgres.dialect import POSTGRES

    return POSTGRES.bind


def _answer(connection: Any, statement: Statement) -> list[Row]:
    """The answer to one statement, with its times as datetimes in UTC."""
    sql, values = _bind(connection)(statement)
    names, rows = _fetch(connection, sql, values)
    check_count(statement, rows)
    if connection.vendor != "sqlite":
        return rows
    from workbell.stores.sqlite.dialect import SQLITE

    return SQLITE.answer(statement.query, names, rows)


def _fetch(connection: Any, sql: str, values: Values) -> Answer:
    fetch = _fetch_sqlite if connection.vendor == "sqlite" else _fetch_postgres
    return fetch(connection, sql, values)


def _fetch_sqlite(connection: Any, sql: str, values: Values) -> Answer:
    # Django's cursor turns %(name)s into :name, which ours are already: only a % has to survive that.
    text = sql.replace("%", "%%") if values else sql
    with connection.cursor() as cursor:
        cursor.execute(text, values or None)
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall() if names else []
    return names, [[text_of(value) if isinstance(value, bytes) else value for value in row] for row in rows]


def _fetch_postgres(connection: Any, sql: str, values: Values) -> Answer:
    from psycopg.types.datetime import TimestamptzLoader
    from psycopg.types.string import TextLoader

    with connection.cursor() as cursor:
        # For this cursor alone: Django's own loader drops the zone where USE_TZ is off.
        adapters = cursor.cursor.adapters
        adapters.register_loader("timestamptz", TimestamptzLoader)
        adapters.register_loader("uuid", TextLoader)
        cursor.execute(sql, values or None)
        rows = cursor.fetchall() if cursor.description else []
    return (), [[value.astimezone(UTC) if isinstance(value, datetime) else value for value in row] for row in rows]
