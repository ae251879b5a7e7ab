"""Idempotency keys of HTTP requests: the stored answer, which the same key gets again."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """A stored answer. Without a status the first request is still in progress, or its server died."""

    tenant: str
    key: str
    fingerprint: str  # of the method, the path, the query and the body: the key must not be used for another request
    created_at: datetime
    until: datetime
    status: int | None = None
    body: str | None = None
