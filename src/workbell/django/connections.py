"""Django's connections: closed around each run in a worker, and to a SQLite store without checkpoints of their own.

Before SQLite 3.51.3 a checkpoint of one connection that overlaps a commit of another can lose the commit: workers make
the checkpoints, in turn with every write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections

from workbell.stores.callers import NO_CHECKPOINT

BACKEND = "workbell.django.WorkbellBackend"


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
