"""Notifications to people, in the store. They are stored first; listeners only get a hint to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from workbell.model.ids import FIRST_ID, LAST_ID
from workbell.model.notification import Notification
from workbell.model.state import Retention
from workbell.model.users import UserId, user_number, user_text
from workbell.stores.database import Batch, Database, Row, Rows, Statement, read_rows, write_rows
from workbell.stores.pending_entry import write_action
from workbell.stores.pruning import Pruned, remove_with_parts

NOTIFICATION = "id tenant user_id data created_at user_text".split()
PAGE = 1000
LOWEST = -(2**63)


class ReadMark(NamedTuple):
    """Read mark: who has read which notification, and when."""

    tenant: str
    user_id: int
    notification: str
    at: datetime


Listed = list[Notification]  # inside the class `list` is the verb


class StoredNotifications:
    """Notifications to one person, or to everybody of a tenant."""

    def __init__(self, database: Database, keep: Retention) -> None:
        self._database = database
        self._keep = keep

    def add(self, new: Sequence[Notification]) -> None:
        if new:
            write_action(self._database, self.loading(new), makes=new[0].id)
            self._database.wake()

    def list(self, tenant: str, user_id: UserId, *, unread: bool, before: str | None, limit: int) -> Listed:
        """A person's own and everybody's, newest first, each with the person's own read mark."""
        name = "list_unread" if unread else "list_notifications"
        values = {"tenant": tenant, "user_id": user_number(user_id), "before": before or LAST_ID, "limit": limit}
        return [_notification(row) for row in read_rows(self._database, name, **values)]

    def new(self, after: str, limit: int) -> Listed:
        """Notifications of all tenants with ids beyond `after`, oldest first: for the process that pushes them."""
        found = read_rows(self._database, "new_notifications", after=after, limit=limit)
        return [_notification(row) for row in found]

    def mark_read(self, tenant: str, user_id: UserId, ids: Sequence[str] | None, now: datetime) -> int:
        """Note that a person has read these, or all that are there; how many were unread."""
        values: dict[str, Any] = {"tenant": tenant, "user_id": user_number(user_id), "now": now}
        count = 0
        if ids is None:
            after = FIRST_ID
            while marked := write_rows(self._database, "read_all", limit=PAGE, after=after, **values):
                count += len(marked)  # others write between two rounds
                after = max(row[0] for row in marked)
        elif ids:
            count = len(write_rows(self._database, "read_some", ids=list(ids), **values))
        if count:
            self._database.wake()
        return count

    def prune(self, now: datetime, limit: int) -> Pruned:
        """Remove notifications whose retention is over, with their read marks."""
        values = {"before": now - self._keep.events, "limit": limit}
        return remove_with_parts(self._database, "delete_notifications", ("delete_reads",), values)

    def export(self) -> Iterator[Sequence[Notification]]:
        """All notifications, in pages, by id."""
        after = FIRST_ID
        while page := self.new(after, PAGE):
            yield page
            after = page[-1].id

    def export_reads(self) -> Iterator[Sequence[ReadMark]]:
        """All read marks, in pages, by notification and person."""
        last: tuple[str, int] = (FIRST_ID, LOWEST)
        while True:
            position = {"after": last[0], "after_user": last[1]}
            found = read_rows(self._database, "export_reads", limit=PAGE, **position)
            if not found:
                return
            page = [ReadMark(row[0], row[1], row[2], row[3].astimezone(UTC)) for row in found]
            yield page
            last = (page[-1].notification, page[-1].user_id)

    def loading(self, new: Sequence[Notification]) -> Batch:
        """The statement that adds notifications; those that are there already stay as they are."""
        return [Statement("add_notifications", {"rows": Rows(NOTIFICATION, [_row(one) for one in new])})]

    def loading_reads(self, marks: Sequence[ReadMark]) -> Batch:
        """The statements that take over read marks of another store, if what was read is here."""
        return [Statement("load_read", mark._asdict()) for mark in marks]


def _row(new: Notification) -> Row:
    number = None if new.user_id is None else user_number(new.user_id)
    return [new.id, new.tenant, number, new.text, new.created_at, user_text(new.user_id)]


def _notification(row: Row) -> Notification:
    """A notification from its columns, followed by the time it was read."""
    created_at, text, read_at = row[4].astimezone(UTC), row[5], row[6]
    user = row[2] if text is None else text
    return Notification(row[0], row[1], user, row[3], created_at, read_at and read_at.astimezone(UTC))
