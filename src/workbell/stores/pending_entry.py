"""Pending audit entry: it is written in the transaction of the action that it tells of.

An audited request has one in its context (`contextvars`), which goes with the request into threads (`Runtime.hop`) and
is seen by no other. The stores write actions with `write_action`: the first batch of the request that is written so has
the entry in it, so that both are committed or neither. A batch that a guard refuses leaves no entry, and the next one
brings it again, under the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from workbell.model.audit import AuditEntry
from workbell.stores.access.audit import add_entries
from workbell.stores.database import Batch, Conflict, Database, Row, Statement


class PendingEntry:
    """Audit entry of a request, until it is written. `make` is given the id of what the action makes, if it does."""

    def __init__(self, make: Callable[[str], AuditEntry]) -> None:
        self._make = make
        self._id: str | None = None
        self.made = ""
        self.is_over = False  # it is written, or its request was refused

    def entry(self) -> AuditEntry:
        """The entry as it is known now; always under one id, so that it is never written twice."""
        found = self._make(self.made)
        self._id = self._id or found.id
        return msgspec.structs.replace(found, id=self._id)


# None in all but audited requests: that is asked on the way of every run, and costs no call there.
PENDING: ContextVar[PendingEntry | None] = ContextVar("workbell_pending_entry", default=None)


@contextmanager
def pending_entry(make: Callable[[str], AuditEntry]) -> Iterator[PendingEntry]:
    """Have the first action that is written in here take an audit entry with it."""
    pending = PendingEntry(make)
    token = PENDING.set(pending)
    try:
        yield pending
    except Exception:
        pending.is_over = True  # also for tasks that copied this context; of who is canceled, a thread may yet write
        raise
    finally:
        PENDING.reset(token)


def write_action(
    database: Database, batch: Batch, *, makes: str = "", first: bool = False, lock: float | None = None
) -> list[list[Row]]:
    """Write a batch as `Database.write` does, with the audit entry that is pending; `makes` is the id of what is new.

    The batch must be refused (`exactly`) where it would change nothing and the caller is told so.
    """
    pending = PENDING.get()
    if pending is None or pending.is_over:
        return database.write(batch, first=first, lock=lock)
    pending.made = makes
    answers = database.write([add_entries([pending.entry()]), *batch], first=first, lock=lock)
    pending.is_over = True
    return answers[1:]


def write_guarded(database: Database, guard: Statement, *others: Statement, makes: str = "") -> list[Row]:
    """Write an action that its first statement decides on: the row that is its answer.

    Empty, if there is none; then nothing of the batch is written.
    """
    try:
        return write_action(database, [guard._replace(exactly=1), *others], makes=makes)[0]
    except Conflict as refused:
        if refused.query != guard.query:
            raise
        return []
