"""What is sent to people: to one of them, or to all."""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.model.payload import decode


class SendToUser(msgspec.Struct, frozen=True, tag="send-to-user"):
    """For one person; `data` is JSON."""

    tenant: str
    user_id: int
    text: str

    @property
    def data(self) -> Any:
        return decode(self.text)


class Broadcast(msgspec.Struct, frozen=True, tag="broadcast"):
    """For everybody of a tenant; `data` is JSON."""

    tenant: str
    text: str

    @property
    def data(self) -> Any:
        return decode(self.text)


Message = SendToUser | Broadcast
