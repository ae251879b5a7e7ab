"""Calls to PostgreSQL: on a pooled connection, with a deadline, and with errors translated. All are in autocommit.

A transaction has timeouts on the server too: our process may be frozen, and the rows that it has locked would stay
locked until it wakes (one worker stopped in a claim blocked all others). They are set with the BEGIN, in the same round
trip, and for that transaction alone: a pooler gives the server's session to others afterwards.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.types.string import TextLoader

from workbell.errors import StoreError, StoreUnavailable
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.postgres.connections import AllBusy, Connection, Connections
from workbell.stores.postgres.deadlines import Deadlines
from workbell.stores.postgres.translation import (
    READ_ONLY,
    Busy,
    InRecovery,
    NotConnected,
    TooLate,
    first_line,
    is_about_preparing,
    translated,
)
from workbell.stores.postgres.urls import read_url, shown_name
from workbell.stores.turns import Turn

T = TypeVar("T")

DEADLINE = 15.0  # seconds for one unit of work
IDLE = 5.0  # seconds that a transaction may be idle before the server rolls it back
LOCK = 7.5  # seconds to wait for a lock in a transaction: longer than a frozen process can hold one
STATEMENT = 0.8  # of the deadline for one statement of a transaction: the server ends it before we have to cut it off
CONNECT = 5  # seconds to connect
# A machine that vanishes without a word is noticed after 60 seconds on a connection that only listens and has no
# deadline. With the system's defaults, 9 probes 75 seconds apart, hints would be missed for 12 minutes.
KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
WAIT = 10.0  # seconds to wait for a connection while all are busy
PREPARE = 2  # uses before a statement is prepared; ?prepare_threshold=0 for poolers that cannot track them
LOCAL = ("localhost", "::1")
# Who says in the server that it no longer waits for a standby. It is a warning: the commit is answered as if all were
# well. Its text is translated, this name is not.
SYNCHRONOUS_WAIT = "SyncRepWaitForLSN"
TRIES = 5  # for units that lost a race with another one
# In one round trip. Behind a pooler, the backend's pid differs from the one that was announced at connect.
SET_UP = "SET TIME ZONE 'UTC'; SELECT pg_backend_pid()"
# Not behind a pooler, which gives the server's session to others. Our statements are written so that one plan serves
# for all values: planning each claim anew took 0.3 ms of its 0.8. JIT is off because a survey seems dear enough to be
# compiled where statistics are old, which took 35 to 107 ms instead of 2.
PLANNING = "SET plan_cache_mode = force_generic_plan; SET jit = off"


class Calls:
    """Calls of one process to PostgreSQL: every statement goes through here."""

    def __init__(self, url: str, *, size: int = 4) -> None:
        given, ours = read_url(url)
        defaults: dict[str, Any] = {"connect_timeout": CONNECT, "application_name": "workbell"} | KEEPALIVES
        self.name = shown_name(given)
        if any("," in str(given.get(name, "")) for name in ("host", "hostaddr")):
            defaults["target_session_attrs"] = "read-write"  # of several hosts, the primary
        self.conninfo = make_conninfo(**(defaults | given))
        self.is_distant = _is_distant(given)
        self.is_pooled = False  # as the last connection was
        self.demotions = 0  # how often a server turned out to be read-only
        self._unconfirmed: set[int] = set()  # ids of connections on which a commit stopped waiting for its standby
        self._prepare, self._pooler, self.size = ours.prepare_threshold, ours.pooler, size
        self._inherited: list[Connections] = []
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        """In a forked child the parent's connections are neither used nor closed: they are left aside."""
        self.connections = Connections(self.connect, self.size)
        self.deadlines = Deadlines(self.size, self.connections.trim)
        self._inherited.append(self.connections)

    def resize(self, size: int) -> None:
        """So many connections at once, from now on."""
        self.size = self.deadlines.spare = size
        self.connections.resize(size)

    def run(
        self,
        work: Callable[[Connection], T],
        *,
        transaction: bool,
        deadline: float | None = None,
        lock: float | None = None,
        first: bool = False,
        pool_wait: float | None = None,
    ) -> T:
        """One unit of work; tried again only where the server says that it did not happen.

        Where all connections are busy it waits for one: `first` before the others that wait, for `pool_wait`
        seconds, and then raises `Busy`.
        """
        seconds = deadline or DEADLINE
        give_up_at = time.monotonic() + seconds
        begin = begin_text(seconds, IDLE, LOCK if lock is None else lock) if transaction else b""
        wait = WAIT if pool_wait is None else pool_wait
        for left in reversed(range(TRIES)):
            try:
                return self._run(work, begin, seconds, wait, first)
            except AllBusy as error:
                raise Busy(str(self.translated(error))) from error
            except (errors.DeadlockDetected, errors.SerializationFailure) as error:
                if not left:  # it passes by itself
                    raise StoreUnavailable(
                        f"PostgreSQL at {self.name}: {first_line(error)}; repeat the call."
                    ) from error
            except errors.IdleInTransactionSessionTimeout as error:
                # A handler has blocked the interpreter for a while. After a long sleep what we were about to write is
                # out of date: the caller decides again.
                if not left or time.monotonic() >= give_up_at:
                    raise self.translated(error) from error
            except psycopg.Error as error:
                raise self.translated(error) from error
        raise AssertionError("unreachable")

    def _run(self, work: Callable[[Connection], T], begin: bytes, seconds: float, wait: float, first: bool) -> T:
        # Plain try and finally: with context managers this cost a tenth of an enqueue.
        turn, connection, late = Turn(), None, None
        with turn.here:
            try:
                connection = self.connections.take(turn, wait, first=first)
                self.deadlines.begin(connection, seconds)
                return self._work(connection, work, begin, seconds)
            finally:
                if connection is not None:
                    late = self.deadlines.end(connection)
                if late is None:
                    self.connections.give_back(turn, connection)
                elif connection is not None:
                    connection.close()
                    self.deadlines.await_end(late, self.connections.set_aside(turn))

    def run_on(self, connection: Connection, work: Callable[[Connection], T]) -> T:
        """Run one statement on a given connection; it is closed if the statement was not over in time."""
        late = None
        self.deadlines.begin(connection, DEADLINE)
        try:
            return self._work(connection, work, b"", DEADLINE)
        except psycopg.Error as error:
            raise self.translated(error) from error
        finally:
            late = self.deadlines.end(connection)
            if late is not None:
                connection.close()
                self.deadlines.await_end(late, lambda: None)

    def _work(self, connection: Connection, work: Callable[[Connection], T], begin: bytes, seconds: float) -> T:
        self._unconfirmed.discard(id(connection))
        try:
            if begin:
                _begin(connection, begin)
            done = work(connection)
            if begin:
                connection.commit()
        except psycopg.Error as error:
            overdue = self.deadlines.find_overdue(connection)
            if overdue is not None and (overdue.socket_copy is not None or isinstance(error, errors.QueryCanceled)):
                raise TooLate(seconds, answered=overdue.socket_copy is None) from error
            _roll_back(connection)
            # Told by the server with every connection, since PostgreSQL 14.
            if error.sqlstate == READ_ONLY and connection.info.parameter_status("in_hot_standby") == "on":
                raise InRecovery(str(error)) from error
            raise
        except BaseException:
            _roll_back(connection)
            raise
        if id(connection) in self._unconfirmed:
            raise StoreUnavailable(
                f"PostgreSQL at {self.name} has committed this, but no synchronous standby has confirmed it in time: a "
                "failover could undo it. Start the standby or change `synchronous_standby_names`, and repeat the call."
            )
        return done

    def fill(self, count: int) -> None:
        """Open connections before they are needed."""
        try:
            self.connections.fill(count)
        except psycopg.Error as error:
            raise self.translated(error) from error

    @property
    def can_listen(self) -> bool:
        """Whether a LISTEN holds beyond its transaction. A pooler may give the session, and the LISTEN, to others."""
        return not self.is_pooled or self._pooler == "session"

    def connect(self, statement: str | None = None) -> Connection:
        """A new connection; a LISTEN is executed on it, if there is one and it can be kept."""
        prepare = PREPARE if self._prepare is None else self._prepare or None
        try:
            connection: Connection = psycopg.connect(self.conninfo, autocommit=True, prepare_threshold=prepare)
        except psycopg.Error as error:
            raise NotConnected(str(error)) from error
        self.deadlines.begin(connection, CONNECT)
        ready = False
        try:
            self._set_up(connection)
            if statement is not None and self.can_listen:
                connection.execute(statement)
            ready = True
        finally:
            late = self.deadlines.end(connection)
            if late is not None or not ready:
                connection.close()
            if late is not None:
                self.deadlines.await_end(late, lambda: None)
        if late is not None:
            raise NotConnected(f"not ready within {CONNECT} s")
        return connection

    def _set_up(self, connection: Connection) -> None:
        # Ids are texts on our side; making UUID objects of them would only cost.
        connection.adapters.register_loader("uuid", TextLoader)
        # Times are to arrive in UTC without being converted one by one; rows.py converts where a pooler loses it.
        key = id(connection)
        connection.add_notice_handler(lambda notice: self._hear(key, notice))
        cursor = connection.execute(SET_UP, prepare=False)
        cursor.nextset()
        (process,) = cursor.fetchone() or (0,)
        self.is_pooled = process != connection.info.backend_pid
        if not self.is_pooled:
            connection.execute(PLANNING, prepare=False)
        if self.is_pooled and self._prepare is None:
            # A pooler. In transaction mode, one that does not track prepared statements would execute another
            # client's instead of ours; an operator whose pooler tracks them says so in the URL.
            connection.prepare_threshold = None

    def _hear(self, key: int, notice: errors.Diagnostic) -> None:
        if notice.source_function == SYNCHRONOUS_WAIT:
            self._unconfirmed.add(key)

    def translated(self, error: psycopg.Error) -> StoreError:
        """The driver's errors as ours, with a remedy."""
        if error.sqlstate == READ_ONLY:
            # The primary may have moved, or the setting may be the session's: a new connection finds out.
            self.demotions += 1
            self.connections.discard()
        if is_about_preparing(error):
            self._prepare = self._prepare or 0  # from now on without, unless the URL asks for it
            self.connections.discard()
        lock, idle = min(LOCK, DEADLINE / 2), min(IDLE, DEADLINE / 3)
        return translated(error, self.name, lock=lock, idle=idle)

    def close(self) -> None:
        self.deadlines.close()
        self.connections.close()


@lru_cache(maxsize=16)
def begin_text(seconds: float, idle: float, lock: float) -> bytes:
    """BEGIN, and the server's timeouts for this transaction, in seconds. With a lock timeout of 0 a lock is waited for
    as long as the statement may take."""
    limits = {
        "idle_in_transaction_session_timeout": min(idle, seconds / 3),
        "lock_timeout": min(lock, seconds / 2),
        "statement_timeout": seconds * STATEMENT,
    }
    settings = [f"SET LOCAL {name} = {max(round(limit * 1000), 1 if limit else 0)}" for name, limit in limits.items()]
    # Limits are counted after a lock was waited for, and must then see what the one before has committed; a server may
    # have another default.
    return "; ".join(["BEGIN ISOLATION LEVEL READ COMMITTED", *settings]).encode()


def _is_distant(given: dict[str, Any]) -> bool:
    """Whether a server seems to be on another machine: then every round trip counts."""
    hosts = str(given.get("hostaddr") or given.get("host") or "").split(",")
    return any(host and host not in LOCAL and not host.startswith(("/", "127.")) for host in hosts)


def _begin(connection: Connection, text: bytes) -> None:
    """Through libpq itself: a cursor for it would cost three times as much."""
    result = connection.pgconn.exec_(text)
    if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
        error = errors.error_from_result(result)
        raise error if error.sqlstate else psycopg.OperationalError(str(error))


def _roll_back(connection: Connection) -> None:
    """Roll back, so that the connection can be used again. If that fails, the pool closes it."""
    if connection.pgconn.transaction_status in _OPEN:
        with contextlib.suppress(psycopg.Error):
            connection.rollback()


_OPEN = (psycopg.pq.TransactionStatus.INTRANS, psycopg.pq.TransactionStatus.INERROR)
