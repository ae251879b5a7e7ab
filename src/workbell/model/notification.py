"""Notification: a stored message to one person, or to everybody of a tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.unreadable import about, failure_of, value_in_row
from workbell.model.users import UserId


class Notification(msgspec.Struct, frozen=True):
    """`user_id` is none for everybody. `read_at` is that of the person who reads the list."""

    id: str
    tenant: str
    user_id: UserId | None
    text: str
    created_at: datetime
    read_at: datetime | None = None

    @property
    def data(self) -> Any:
        return value_in_row(f"the data of notification {self.id}", self.text)

    @property
    def unreadable(self) -> str | None:
        """What the store holds of it that cannot be read, in a sentence; none: all can."""
        error = failure_of(self.text)
        return None if error is None else about({"data": error}, "send it again.")

    @property
    def read(self) -> bool:
        return self.read_at is not None

    def as_dict(self) -> dict[str, Any]:
        """In the words of the public API, ready for JSON."""
        from workbell.wire.notifications import NotificationShown

        failed = {"data"} if self.unreadable else ()
        return {name: None if name in failed else getattr(self, name) for name in NotificationShown.__struct_fields__}
