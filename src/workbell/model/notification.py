"""Notification: a stored message to one person, or to everybody of a tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.payload import decode
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
        return decode(self.text)

    @property
    def read(self) -> bool:
        return self.read_at is not None

    def as_dict(self) -> dict[str, Any]:
        """In the words of the public API, ready for JSON."""
        from workbell.wire.notifications import NotificationShown

        return {name: getattr(self, name) for name in NotificationShown.__struct_fields__}
