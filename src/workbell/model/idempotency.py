"""What a request with an idempotency key was answered: the same key gets the same answer again."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """Without a status the first request is still being worked on, or its server died at it."""

    tenant: str
    key: str
    fingerprint: str  # of the method, the path, the query and the body: the key must not be used for something else
    created_at: datetime
    until: datetime
    status: int | None = None
    body: str | None = None
