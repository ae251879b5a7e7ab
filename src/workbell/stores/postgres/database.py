"""Calls to PostgreSQL: on a kept connection, with a deadline, and with errors translated. All are in autocommit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import TextLoader

from workbell.afresh import in_every_child
from workbell.errors import InvalidUrl, StoreError, StoreUnavailable
from workbell.stores.postgres.connections import Connection, Connections
from workbell.stores.postgres.deadlines import Deadlines

T = TypeVar("T")

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
        self._inherited: list[Connections] = []
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        """In a forked child the parent's connections are not to be used, and not to be closed either: kept aside."""
        self.deadlines = Deadlines()
        self.connections = Connections(self.connect, self._size)
        self._inherited.append(self.connections)

    def run(self, work: Callable[[Connection], T], *, transaction: bool, deadline: float | None = None) -> T:
        """One unit of work; tried again only where the server says that it did not happen."""
        for left in reversed(range(TRIES)):
            try:
                return self._run(work, transaction, deadline)
            except (errors.DeadlockDetected, errors.SerializationFailure) as error:
                if not left:
                    raise StoreError(f"{self.name}: {_line(error)}; repeat the call.") from error
            except psycopg.Error as error:
                raise self.translated(error) from error
        raise AssertionError("unreachable")

    def _run(self, work: Callable[[Connection], T], transaction: bool, deadline: float | None) -> T:
        # Plain try and finally: with context managers this cost a tenth of an enqueue.
        connection = self.connections.take(CONNECT)
        key = self.deadlines.begin(connection, deadline or DEADLINE)
        try:
            if not transaction:
                return work(connection)
            with connection.transaction():
                return work(connection)
        finally:
            self.deadlines.end(key)
            self.connections.give_back(connection)

    def fill(self, count: int) -> None:
        """Open connections before they are needed."""
        try:
            self.connections.fill(count)
        except psycopg.Error as error:
            raise self.translated(error) from error

    def connect(self) -> Connection:
        """A new connection."""
        connection: Connection = psycopg.connect(self.conninfo, autocommit=True, prepare_threshold=self._prepare)
        # Limits are counted after a lock was waited for, and must then see what the one before has committed; a server
        # may have another default.
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        # Ids are texts on our side; making UUID objects of them would only cost.
        connection.adapters.register_loader("uuid", TextLoader)
        # So that times arrive in UTC without being converted one by one; rows.py converts where a pooler loses it.
        connection.execute("SET TIME ZONE 'UTC'")
        return connection

    def translated(self, error: psycopg.Error) -> StoreError:
        """The driver's errors as ours, with a remedy."""
        too_large = (error.sqlstate or "").startswith("54")
        if isinstance(error, psycopg.OperationalError) and not too_large:  # repeating that would not help
            return StoreUnavailable(f"{self._reached()} ({_line(error)}).")
        if isinstance(error, errors.UndefinedTable):
            return StoreError(f"{self.name}: {_line(error)}; run `workbell migrate`.")
        return StoreError(f"{self.name}: {_line(error)}.")

    def _reached(self) -> str:
        return f"PostgreSQL at {self.name} cannot be reached; check that it runs and that the URL is right"

    def close(self) -> None:
        self.deadlines.close()
        self.connections.close()


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
