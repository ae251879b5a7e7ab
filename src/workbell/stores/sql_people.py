"""The verbs about notifications that every SQL store has alike: rows first; whoever listens is only told to look."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from workbell.model.notification import Notification
from workbell.model.users import UserId, user_number
from workbell.stores import service_rows
from workbell.stores.service_rows import NOTIFICATION
from workbell.stores.session import Session
from workbell.stores.sql_events import LAST_ID

T = TypeVar("T")


class SqlPeople(ABC):
    """Notifications and who has read them, over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def wake(self) -> None: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    def add_notifications(self, new: Sequence[Notification]) -> None:
        if new:
            self.write(lambda session: self.add_notifications_in(session, new))
            self.wake()

    def add_notifications_in(self, session: Session, new: Sequence[Notification]) -> None:
        values = [service_rows.notification_row(one) for one in new]
        session.rows("add_notifications", **self.spell(NOTIFICATION, values))

    def list_notifications(
        self, tenant: str, user_id: UserId, *, unread: bool, before: str | None, limit: int
    ) -> list[Notification]:
        name = "list_unread" if unread else "list_notifications"
        values = {"tenant": tenant, "user_id": user_number(user_id), "before": before or LAST_ID, "limit": limit}
        return self.read(lambda s: [service_rows.notification_from(row) for row in s.rows(name, **values)])

    def new_notifications(self, after: str, limit: int) -> list[Notification]:
        values = {"after": after, "limit": limit}
        return self.read(lambda s: [service_rows.notification_from(r) for r in s.rows("new_notifications", **values)])

    def mark_read(self, tenant: str, user_id: UserId, ids: Sequence[str] | None, now: datetime) -> int:
        values: dict[str, Any] = {"tenant": tenant, "user_id": user_number(user_id), "now": now}
        if ids is None:
            read = self.write(lambda session: session.rows("read_all", **values))
        else:
            read = self.write(lambda session: session.rows("read_some", ids=list(ids), **values)) if ids else []
        if read:
            self.wake()
        return len(read)

    def delete_notifications_in(self, session: Session, before: datetime, limit: int) -> int:
        """Notifications whose time is over, with who had read them."""
        gone = [row[0] for row in session.rows("delete_notifications", before=before, limit=limit)]
        if gone:
            self._delete_reads(session, gone)
        return len(gone)

    def _delete_reads(self, session: Session, gone: Sequence[str]) -> None:
        """Where one statement cannot do both."""
        return
