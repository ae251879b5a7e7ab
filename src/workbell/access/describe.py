"""Tokens, tenants and entries of the audit log as they are shown: ready for JSON, and never the hash of a token."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.access import Token
from workbell.model.audit import AuditEntry
from workbell.model.clock import EPOCH
from workbell.model.pairing import shown_name
from workbell.model.payload import decode
from workbell.model.tenant import Tenant

NEVER = EPOCH  # when a tenant was changed for which nothing was ever set


def describe_token(token: Token, now: datetime) -> dict[str, Any]:
    shown = msgspec.structs.asdict(token)
    del shown["hash"]
    return shown | {"name": shown_name(token), "scopes": list(token.scopes), "valid": token.is_valid(now)}


def describe_tenant(tenant: Tenant) -> dict[str, Any]:
    shown = msgspec.structs.asdict(tenant)
    return shown | {name: None for name in ("created_at", "updated_at") if shown[name] == NEVER}


def describe_entry(entry: AuditEntry) -> dict[str, Any]:
    shown = msgspec.structs.asdict(entry)
    return shown | {"detail": decode(shown.pop("detail_text"))}
