"""Connections to PostgreSQL: a pool, deadlines, and the translation of errors. All connections are in autocommit."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from workbell.errors import InvalidUrl, StoreError, StoreUnavailable
from workbell.stores.postgres.deadlines import Deadlines

T = TypeVar("T")
Connection = psycopg.Connection[Any]

DEADLINE = 15.0  # seconds for one unit of work
CONNECT = 5  # seconds to connect
TRIES = 5  # for units that lost a race with another one


class TextUuid(Loader):
    """Ids are texts on our side; making UUID objects of them would only cost."""

    def load(self, data: Any) -> str:
        return bytes(data).decode()


class Database:
    """Where every statement to PostgreSQL goes through."""

    def __init__(self, url: str, *, size: int = 8) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise InvalidUrl(
                f"The store's URL cannot be read: {str(error).strip()}; "
                "write it as postgresql://user:password@host:5432/database."
            ) from None
        defaults = {"connect_timeout": CONNECT, "application_name": "workbell", "keepalives_idle": 30}
        self.conninfo = make_conninfo(**(defaults | given))
        self.name = f"{given.get('host') or 'local'}/{given.get('dbname') or given.get('user') or ''}"
        self.deadlines = Deadlines()
        self.pool: ConnectionPool[Connection] = ConnectionPool(
            self.conninfo,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=size,
            open=False,
            timeout=CONNECT + 1,
            num_workers=2,
            configure=_configure,
            check=_check,
            reconnect_timeout=0,
            name="workbell",
        )

    def run(self, work: Callable[[Connection], T], *, transaction: bool) -> T:
        """One unit of work; tried again only where the server says that it did not happen."""
        for left in reversed(range(TRIES)):
            try:
                with self.connection() as connection:
                    if not transaction:
                        return work(connection)
                    with connection.transaction():
                        return work(connection)
            except (errors.DeadlockDetected, errors.SerializationFailure) as error:
                if not left:
                    raise StoreError(f"{self.name}: {error}; repeat the call.") from error
        raise AssertionError("unreachable")

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        with self.translated():
            self._open()
            connection = self.pool.getconn()
            key = self.deadlines.begin(connection, DEADLINE)
            try:
                yield connection
            finally:
                self.deadlines.end(key)
                self.pool.putconn(connection)  # a broken one is thrown away

    def _open(self) -> None:
        if self.pool.closed:
            self.pool.open()

    def connect(self) -> Connection:
        """A connection of its own, outside the pool."""
        with self.translated():
            return psycopg.connect(self.conninfo, autocommit=True)

    @contextmanager
    def translated(self) -> Iterator[None]:
        try:
            yield
        except (errors.DeadlockDetected, errors.SerializationFailure):
            raise
        except (PoolTimeout, PoolClosed) as error:
            raise StoreUnavailable(f"{self._reached()} ({error}).") from error
        except psycopg.OperationalError as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise StoreUnavailable(f"{self._reached()} ({first}).") from error
        except errors.UndefinedTable as error:
            raise StoreError(f"{self.name}: {_line(error)}; run `workbell migrate`.") from error
        except psycopg.Error as error:
            raise StoreError(f"{self.name}: {_line(error)}.") from error

    def _reached(self) -> str:
        return f"PostgreSQL at {self.name} cannot be reached; check that it runs and that the URL is right"

    def close(self) -> None:
        self.deadlines.close()
        if not self.pool.closed:
            self.pool.close(timeout=2)


def _line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0]


def _configure(connection: Connection) -> None:
    connection.adapters.register_loader("uuid", TextUuid)
    # Only so that times arrive in UTC without being converted one by one; rows.py converts where a pooler loses it.
    connection.execute("SET TIME ZONE 'UTC'")
    # Prepared after the second use. Behind a pooler that cannot track them, turn it off with ?prepare_threshold=0.
    connection.prepare_threshold = 2


def _check(connection: Connection) -> None:
    """An idle connection has nothing to say; if its socket can be read, the server has ended it."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
    if poll.poll(0):
        raise psycopg.OperationalError("the server closed the connection")
