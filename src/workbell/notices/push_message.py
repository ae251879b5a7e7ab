"""Push messages to people: to one of them, or to all. Each is stored before; receivers recognise repeats by the id."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.json_text import decode
from workbell.model.users import UserId


class SendToUser(msgspec.Struct, frozen=True, tag="send-to-user"):
    """For one person; `data` is JSON."""

    tenant: str
    user_id: UserId
    text: str
    id: str = ""
    created_at: datetime | None = None

    @property
    def data(self) -> Any:
        return decode(self.text)


class Broadcast(msgspec.Struct, frozen=True, tag="broadcast"):
    """For everybody of a tenant; `data` is JSON."""

    tenant: str
    text: str
    id: str = ""
    created_at: datetime | None = None

    @property
    def data(self) -> Any:
        return decode(self.text)


Message = SendToUser | Broadcast
