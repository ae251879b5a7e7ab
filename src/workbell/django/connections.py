"""Django's connections: closed around each run in a worker, patient with locks of SQLite while a task uses them, and to
a SQLite store without checkpoints of their own.

Before SQLite 3.51.3 a checkpoint of one connection that overlaps a commit of another can lose the commit: workers make
the checkpoints, in turn with every write.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError, OperationalError, connections

from workbell.stores.callers import NO_CHECKPOINT

log = logging.getLogger("workbell.django")

BACKEND = "workbell.django.WorkbellBackend"
LOCK_WAIT = 60.0  # seconds that a statement of a task without a timeout waits for the lock of a SQLite file
SAVEPOINTS = ("SAVEPOINT", "RELEASE", "ROLLBACK")  # which neither read nor write
AGAIN = 0.05  # seconds between two tries; each waits for `timeout` of the connection's OPTIONS, which is 5 s


def store_aliases() -> list[str]:
    """The aliases of DATABASES in which backends of ours keep runs; the default one, if there are no such backends."""
    backends = getattr(settings, "TASKS", None) or {}
    ours = [entry.get("OPTIONS", {}) for entry in backends.values() if _is_ours(entry.get("BACKEND"))]
    found = [options.get("database", "default") for options in ours if options.get("url") is None]
    return list(dict.fromkeys(found)) if ours else ["default"]


def _is_ours(path: object) -> bool:
    from django.utils.module_loading import import_string

    from workbell.django.backend import WorkbellBackend

    if path == BACKEND:
        return True
    try:
        found = import_string(path)
    except ImportError:
        return False
    return isinstance(found, type) and issubclass(found, WorkbellBackend)


def prepare_connection(sender: object, connection: Any, **_: object) -> None:
    """Receiver of `connection_created`."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():
        return
    names = {str(connections.settings[alias]["NAME"]) for alias in store_aliases() if alias in connections.settings}
    if str(connection.settings_dict["NAME"]) in names:
        with connection.cursor() as cursor:
            cursor.execute(NO_CHECKPOINT)


def closing_connections() -> Iterator[None]:
    """Hook around each run: Django closes connections at the end of a request, and a run is none."""
    _close_old()
    try:
        yield
    finally:
        _close_old()


def _close_old() -> None:
    """As `close_old_connections`, but those of a test that has a transaction open stay."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


@contextmanager
def waiting_for_locks(timeout: float | None, is_over: Callable[[], bool]) -> Iterator[None]:
    """Statements of a task on SQLite wait for the write lock until the task's own time is over.

    A statement outside of a transaction that finds the file locked has changed nothing, nor has a BEGIN or the first
    statement after it, and is executed again. A later one is not: what was read before it may be out of date.
    """
    end = None if timeout is None else time.monotonic() + timeout
    just_begun: set[str] = set()  # aliases of connections whose transaction has neither read nor written

    def execute(call: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        give_up_at = time.monotonic() + LOCK_WAIT if end is None else end
        said = False
        connection = context["connection"]
        alias, had_begun = connection.alias, connection.connection.in_transaction
        is_first = alias in just_begun
        verb = sql.split(None, 1)[0].upper() if sql.strip() else ""
        if verb == "BEGIN":
            just_begun.add(alias)
        elif verb not in SAVEPOINTS:
            just_begun.discard(alias)
        while True:
            try:
                return call(sql, params, many, context)
            except OperationalError as error:
                # Many rows outside of a transaction are as many commits, some of which may have been made.
                is_safe = _is_locked(error) and not many and (is_first or not had_begun)
                # SQLite may have rolled back the transaction: the statement would be executed without one.
                is_safe = is_safe and connection.connection.in_transaction == had_begun
                if not is_safe or is_over() or time.monotonic() >= give_up_at:
                    raise
                if not said:
                    log.warning("a task waits for the lock of %s", connection.settings_dict["NAME"])
                said = True
                time.sleep(AGAIN)

    with ExitStack() as stack:
        for alias in connections:
            if connections[alias].vendor == "sqlite":
                stack.enter_context(connections[alias].execute_wrapper(execute))
        yield


def _is_locked(error: OperationalError) -> bool:
    code: int = getattr(error.__cause__, "sqlite_errorcode", None) or 0
    return code & 0xFF == sqlite3.SQLITE_BUSY  # the rest says more about it


@contextmanager
def in_savepoints() -> Iterator[None]:
    """Savepoints around a task that is executed inside the transactions of a test, and none in a worker.

    A statement that fails in the task would end the transaction of the test; in a worker it ends none but its own.
    """
    opened = connections.all(initialized_only=True)
    saved = [(one, one.savepoint()) for one in opened if one.in_atomic_block and not one.needs_rollback]
    try:
        yield
    finally:
        for connection, savepoint in saved:
            _release(connection, savepoint)


def _release(connection: Any, savepoint: str) -> None:
    """Keep what the task wrote, unless the transaction has failed."""
    if not connection.needs_rollback:
        try:
            connection.savepoint_commit(savepoint)
            return
        except DatabaseError:  # a statement has failed that Django does not know of
            pass
    connection.needs_rollback = False
    connection.savepoint_rollback(savepoint)
