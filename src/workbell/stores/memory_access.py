"""Tokens, tenants, the audit log and idempotency keys in dicts: a part of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from workbell.model.access import EVERY_TENANT, Token, TokenKind
from workbell.model.audit import AuditEntry
from workbell.model.remembered import Remembered
from workbell.model.run import Lane
from workbell.model.state import Keep
from workbell.model.tenant import Tenant
from workbell.stores.access.tokens import KEPT, KEPT_LONG, KEPT_SHORT
from workbell.stores.port import Batch


class MemoryAccess:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock
    _lanes: dict[int, Lane]
    keep: Keep

    def __init__(self) -> None:
        super().__init__()
        self._tokens: dict[str, Token] = {}  # by hash
        self._tenants: dict[str, Tenant] = {}
        self._audit: dict[str, AuditEntry] = {}
        self._answers: dict[tuple[str, str], Remembered] = {}

    # Tokens

    def add_token(self, token: Token) -> None:
        with self._lock:
            self._tokens[token.hash] = token

    def find_token(self, token_hash: str) -> Token | None:
        return self._tokens.get(token_hash)

    def list_tokens(self, tenant: str | None = None) -> list[Token]:
        with self._lock:
            found = [token for token in self._tokens.values() if tenant in (None, token.tenant)]
        return sorted(found, key=lambda token: (token.created_at, token.id))

    def redeem_token(self, token_hash: str, now: datetime) -> Token | None:
        with self._lock:
            token = self._tokens.get(token_hash)
            if token is None or not token.is_valid(now):
                return None
            used = replace(token, last_used_at=now)
            self._tokens[token_hash] = replace(used, revoked_at=now)
            return used

    def revoke_tokens(self, ids: Sequence[str], now: datetime) -> set[str]:
        with self._lock:
            valid = [token for token in self._tokens.values() if token.id in ids and token.revoked_at is None]
            self._tokens |= {token.hash: replace(token, revoked_at=now) for token in valid}
            return {token.id for token in valid}

    def see_tokens(self, ids: Sequence[str], now: datetime) -> None:
        with self._lock:
            for token in list(self._tokens.values()):
                if token.id in ids and (token.last_used_at is None or token.last_used_at < now):
                    self._tokens[token.hash] = replace(token, last_used_at=now)

    # Tenants

    def put_tenant(self, tenant: Tenant) -> None:
        with self._lock:
            known = self._tenants.get(tenant.name, tenant)
            self._tenants[tenant.name] = replace(tenant, created_at=known.created_at)

    def delete_tenant(self, name: str) -> bool:
        with self._lock:
            return self._tenants.pop(name, None) is not None

    def list_tenants(self) -> list[Tenant]:
        with self._lock:
            return sorted(self._tenants.values(), key=lambda tenant: tenant.name)

    def known_tenants(self) -> list[str]:
        with self._lock:
            found = {lane.tenant for lane in self._lanes.values()} | set(self._tenants)
            found |= {token.tenant for token in self._tokens.values()}
        return sorted(found - {EVERY_TENANT})

    # The audit log

    def add_audit(self, entries: Sequence[AuditEntry]) -> None:
        with self._lock:
            self._audit = {entry.id: entry for entry in entries} | self._audit

    def list_audit(self, tenant: str | None, *, before: str | None, limit: int) -> list[AuditEntry]:
        with self._lock:
            every = sorted(self._audit.values(), key=lambda entry: entry.id, reverse=True)
        found = [e for e in every if tenant in (None, e.tenant) and (before is None or e.id < before)]
        return found[:limit]

    # Idempotency keys

    def remember(self, asked: Remembered) -> Remembered | None:
        with self._lock:
            known = self._answers.get((asked.tenant, asked.key))
            if known is not None and known.until > asked.created_at:
                return known
            self._answers[asked.tenant, asked.key] = asked
            return None

    def answer(self, answered: Remembered) -> None:
        with self._lock:
            known = self._asked(answered.tenant, answered.key, answered.fingerprint)
            if known is not None:
                self._answers[known.tenant, known.key] = replace(answered, created_at=known.created_at)

    def forget(self, tenant: str, key: str, fingerprint: str) -> None:
        with self._lock:
            if self._asked(tenant, key, fingerprint) is not None:
                del self._answers[tenant, key]

    def _asked(self, tenant: str, key: str, fingerprint: str) -> Remembered | None:
        known = self._answers.get((tenant, key))
        return known if known and known.fingerprint == fingerprint and known.status is None else None

    # Housekeeping

    def _delete_access(self, now: datetime, limit: int) -> int:
        tokens = 0
        for end in ("expires_at", "revoked_at"):
            over = [token for token in self._tokens.values() if _is_over(token, getattr(token, end), now)][:limit]
            self._tokens = {token.hash: token for token in self._tokens.values() if token not in over}
            tokens += len(over)
        entries = sorted((entry.at, entry.id) for entry in self._audit.values() if entry.at <= now - self.keep.audit)
        for _, entry_id in entries[:limit]:
            del self._audit[entry_id]
        answers = [place for place, answer in self._answers.items() if answer.until <= now][:limit]
        for place in answers:
            del self._answers[place]
        return tokens + len(entries[:limit]) + len(answers)

    def _load_access(self, batch: Batch) -> None:
        ids = {token.id for token in self._tokens.values()}
        self._tokens = {token.hash: token for token in batch.tokens if token.id not in ids} | self._tokens
        self._tenants = {tenant.name: tenant for tenant in batch.tenants} | self._tenants
        self._audit = {entry.id: entry for entry in batch.audit} | self._audit


def _is_over(token: Token, end: datetime | None, now: datetime) -> bool:
    kept = KEPT_LONG if token.kind in (TokenKind.API, TokenKind.AGENT) else KEPT
    kept = KEPT_SHORT if token.kind is TokenKind.TICKET else kept
    return end is not None and end <= now - kept
