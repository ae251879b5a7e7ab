"""Connections to PostgreSQL: a pool, deadlines, and the translation of errors. All connections are in autocommit."""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from workbell.afresh import in_every_child
from workbell.errors import InvalidUrl, StoreError, StoreUnavailable
from workbell.stores.postgres.deadlines import Deadlines

T = TypeVar("T")
Connection = psycopg.Connection[Any]

DEADLINE = 15.0  # seconds for one unit of work
CONNECT = 5  # seconds to connect
PREPARE = 2  # uses before a statement is prepared; ?prepare_threshold=0 for poolers that cannot track them
TRIES = 5  # for units that lost a race with another one


class Database:
    """Where every statement to PostgreSQL goes through."""

    def __init__(self, url: str, *, size: int = 8) -> None:
        try:
            url, prepare = split_url(url)
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise InvalidUrl(
                f"The store's URL cannot be read: {str(error).strip()}; "
                "write it as postgresql://user:password@host:5432/database."
            ) from None
        defaults: dict[str, Any] = {"connect_timeout": CONNECT, "application_name": "workbell", "keepalives_idle": 30}
        self.conninfo = make_conninfo(**(defaults | given))
        self.name = f"{given.get('host') or 'local'}/{given.get('dbname') or given.get('user') or ''}"
        self._prepare, self._size = prepare, size
        self._pools: list[ConnectionPool[Connection]] = []
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        """In a forked child the parent's connections are not to be used, and not to be closed either: kept aside."""
        self.deadlines = Deadlines()
        self.pool: ConnectionPool[Connection] = ConnectionPool(
            self.conninfo,
            kwargs={"autocommit": True, "prepare_threshold": self._prepare},
            min_size=0,
            max_size=self._size,
            open=False,
            timeout=CONNECT + 1,
            num_workers=2,
            configure=_configure,
            check=_check,
            reconnect_timeout=0,
            name="workbell",
        )
        self._pools.append(self.pool)

    def run(self, work: Callable[[Connection], T], *, transaction: bool) -> T:
        """One unit of work; tried again only where the server says that it did not happen."""
        for left in reversed(range(TRIES)):
            try:
                return self._run(work, transaction)
            except (errors.DeadlockDetected, errors.SerializationFailure) as error:
                if not left:
                    raise StoreError(f"{self.name}: {_line(error)}; repeat the call.") from error
            except (psycopg.Error, PoolTimeout, PoolClosed) as error:
                raise self.translated(error) from error
        raise AssertionError("unreachable")

    def _run(self, work: Callable[[Connection], T], transaction: bool) -> T:
        # Plain try and finally: with context managers this cost a tenth of an enqueue.
        if self.pool.closed:
            # Once directly: the pool would wait for seconds, and then not say what is wrong.
            psycopg.connect(self.conninfo).close()
            self.pool.open()
        connection = self.pool.getconn()
        key = self.deadlines.begin(connection, DEADLINE)
        try:
            if not transaction:
                return work(connection)
            with connection.transaction():
                return work(connection)
        finally:
            self.deadlines.end(key)
            self.pool.putconn(connection)  # a broken one is thrown away

    def connect(self) -> Connection:
        """A connection of its own, outside the pool."""
        try:
            return psycopg.connect(self.conninfo, autocommit=True)
        except psycopg.Error as error:
            raise self.translated(error) from error

    def translated(self, error: Exception) -> StoreError:
        """The driver's errors as ours, with a remedy."""
        if isinstance(error, PoolTimeout | PoolClosed):
            return StoreUnavailable(f"{self._reached()} ({error}).")
        too_large = (error.sqlstate or "").startswith("54") if isinstance(error, psycopg.Error) else False
        if isinstance(error, psycopg.OperationalError) and not too_large:  # repeating that would not help
            return StoreUnavailable(f"{self._reached()} ({_line(error)}).")
        if isinstance(error, errors.UndefinedTable):
            return StoreError(f"{self.name}: {_line(error)}; run `workbell migrate`.")
        return StoreError(f"{self.name}: {_line(error)}.")

    def _reached(self) -> str:
        return f"PostgreSQL at {self.name} cannot be reached; check that it runs and that the URL is right"

    def close(self) -> None:
        self.deadlines.close()
        if not self.pool.closed:
            self.pool.close(timeout=2)


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def split_url(url: str) -> tuple[str, int | None]:
    """The URL without our own parameter, and after how many uses a statement is prepared (None: never)."""
    parts = urlsplit(url)
    given = parse_qsl(parts.query, keep_blank_values=True)
    ours = [value for name, value in given if name == "prepare_threshold"]
    if not ours:
        return url, PREPARE
    if not ours[-1].isdecimal():
        raise InvalidUrl(f"The store's URL: prepare_threshold={ours[-1]!r} is not a whole number; 0 turns it off.")
    rest = urlencode([(name, value) for name, value in given if name != "prepare_threshold"])
    return urlunsplit(parts._replace(query=rest)), int(ours[-1]) or None


def _configure(connection: Connection) -> None:
    # Ids are texts on our side; making UUID objects of them would only cost.
    connection.adapters.register_loader("uuid", TextLoader)
    # Only so that times arrive in UTC without being converted one by one; rows.py converts where a pooler loses it.
    connection.execute("SET TIME ZONE 'UTC'")


def _check(connection: Connection) -> None:
    """An idle connection has nothing to say; if its socket can be read, the server has ended it."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
    if poll.poll(0):
        connection.close()  # else the pool would take it back, and offer it for ever
        raise psycopg.OperationalError("the server closed the connection")
