"""The database port: what an SQL engine supplies to the parts of a store.

A write is a value: a batch of named statements, executed in order, whole or not at all, with the answers afterwards. No
function of ours runs inside a transaction. So the same batch can be sent to a server in one go, or be executed on a
caller's own connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workbell.errors import StoreError, StoreUnavailable
from workbell.model.clock import Clock
from workbell.model.input_fields import FieldFilter
from workbell.model.rewind import StorePosition
from workbell.model.run import Lane, Run
from workbell.model.state import Transition

if TYPE_CHECKING:
    from workbell.stores.callers import AsyncCaller, Caller
    from workbell.stores.port import LeaseTerms, StoreWatch

Row = Sequence[Any]


class Rows(NamedTuple):
    """Many rows as one parameter: a JSON text on SQLite, an array for each column on PostgreSQL."""

    columns: Sequence[str]
    values: Sequence[Sequence[Any]]


class Statement(NamedTuple):
    """A query of the SQL files by its name, with its parameters.

    `exactly` so many rows must be the answer, or nothing of the batch is written: so a statement can be a guard.
    """

    query: str
    values: Mapping[str, Any] = {}
    exactly: int | None = None
    text: str | None = None  # composed SQL instead of a query of the files: for searches only


Batch = Sequence[Statement]


class Conflict(StoreError):
    """A unique value of the batch is taken, or a guard refused; nothing of the batch was written."""

    def __init__(self, message: str, query: str | None = None) -> None:
        super().__init__(message)
        self.query = query  # the guard that refused, if one did


LOCK_SECONDS = 0.1  # wait for a lock in a write that others share


class Locked(StoreUnavailable):
    """Another transaction held a row for longer than we wanted to wait; nothing of the batch was written."""


class Tables(NamedTuple):
    """The version of the tables, and the identity of the store that they are."""

    version: int
    store_id: str


class Dialect(Protocol):
    """The SQL of an engine, and how it differs for the verbs. There is one for SQLite and one for PostgreSQL."""

    engine: str  # which SQL files and migrations it uses
    one_writer: bool  # transactions that write come one after the other: nothing need be locked
    most_statements: int  # that one write may have; one that is a guard counts as two

    @property
    def follow_indexes(self) -> Sequence[Statement]:
        """Statements that come before a search of history, in its transaction, so that the planner goes by indexes."""

    def bound(self, statement: Statement) -> Statement:
        """A statement with its parameters bound ahead of time, so that the write has less to do."""

    def make_run(self, row: Row, lanes: Mapping[int, Lane]) -> Run:
        """A run of a row with its columns; times in such rows are as the engine has them."""

    def make_started(self, row: Row, lanes: Mapping[int, Lane], terms: LeaseTerms) -> Run:
        """A run that was just started on these terms, of a row of the answer of its claim."""

    def finish(self, ending: Sequence[Transition], *, whole: bool) -> list[Statement]:
        """Transitions that end runs; `whole`: all of them, or nothing of the batch. The answers begin with ids."""

    def field_condition(self, field: FieldFilter, letter: str) -> tuple[str, dict[str, Any]]:
        """The condition that an input has a field, and its parameters, whose names begin with the letter."""

    def is_among(self, ids: str) -> str:
        """The condition that `r.id` is one of those that a subquery finds."""

    def merge_lanes(self, newest: str) -> str:
        """The newest ids of several lanes, by the subquery for one of them."""

    def in_lanes(self, text: str) -> str:
        """A search with its words for lanes written out."""


class Database(Protocol):
    """Database of one engine. Its tables are checked, and made if there are none, before the first batch."""

    clock: Clock

    @property
    def dialect(self) -> Dialect: ...

    def read(self, batch: Batch) -> list[list[Row]]:
        """The answers to statements that only read, each by itself; sent again if the connection was lost."""

    def write(self, batch: Batch, *, first: bool = False, lock: float | None = None) -> list[list[Row]]:
        """The answers to a batch that is one transaction. Raises Conflict where a unique value is taken, or an answer
        is not `exactly` as large as it must be; and Locked after `lock` seconds of waiting for others.

        `first`: before others that wait for their turn to write.
        """

    def ready(self, *, joining: bool = False) -> None:
        """Check the tables, once, and make them if there are none; raise SchemaMismatch or StoreUnavailable if they
        cannot be worked with.

        `joining` a caller's transaction, whose locks are waited for in vain: raise where tables cannot be made now.
        """

    def tables(self) -> Tables | None:
        """The version and identity of the tables, if there are any; none is made."""

    def migrate(self) -> list[str]:
        """Bring the tables up to date; the names of the migrations that ran."""

    def borrow(self, connection: Any) -> Caller:
        """A connection of the caller's, inside whose transaction statements are executed."""

    async def aborrow(self, connection: Any) -> AsyncCaller: ...

    @property
    def hints(self) -> bool:
        """Whether a watch is told that another process wrote; else whoever waits finds it at the next poll."""

    def watch(self) -> StoreWatch: ...

    def wake(self) -> None:
        """Give the hint that something changed, to every process that watches."""

    def wake_later(self) -> None:
        """The same for what a caller's own transaction will commit."""

    @property
    def connections(self) -> int:
        """How many can write at the same time in this process."""

    def limit_connections(self, count: int) -> None: ...

    def tidy(self) -> None: ...

    def measure_time(self) -> None: ...

    def position(self) -> StorePosition | None:
        """Where the store is, to notice a rewind; none where the engine does not tell."""

    def describe(self) -> list[tuple[str, str, str]]: ...

    def close(self) -> None: ...


def read_rows(database: Database, query: str, **values: Any) -> list[Row]:
    """The answer to one query."""
    return database.read([Statement(query, values)])[0]


def write_rows(database: Database, query: str, **values: Any) -> list[Row]:
    """The answer to a batch of one statement."""
    return database.write([Statement(query, values)])[0]


def check_count(statement: Statement, found: Sequence[Row]) -> None:
    """Raise Conflict if a guard refuses."""
    if statement.exactly is not None and len(found) != statement.exactly:
        raise conflict(statement.query, len(found), statement.exactly)


def conflict(query: str, found: int, exactly: int) -> Conflict:
    return Conflict(f"{query}: {found} rows and not {exactly}; repeat the call.", query)
