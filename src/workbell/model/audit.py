"""Audit log: which action a caller did, on what, when and from where."""

from __future__ import annotations

from datetime import datetime

import msgspec


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One action. `detail_text` is JSON, and never holds a secret."""

    id: str
    tenant: str
    at: datetime
    actor: str
    action: str  # "runs.cancel", "tokens.create": the resource and the verb
    subject: str = ""  # the id or name of what it was done to
    detail_text: str | None = None
    address: str | None = None  # of the caller
