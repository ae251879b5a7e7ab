"""The verbs about tokens, tenants, the audit log and idempotency keys that every SQL store has alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from workbell.model.access import EVERY_TENANT, Token
from workbell.model.audit import AuditEntry
from workbell.model.remembered import Remembered
from workbell.model.state import Keep
from workbell.model.tenant import Tenant
from workbell.stores import service_rows
from workbell.stores.service_rows import AUDIT, in_order
from workbell.stores.session import Session
from workbell.stores.sql_events import LAST_ID

T = TypeVar("T")

KEPT_SHORT = timedelta(minutes=1)  # how long a ticket is kept after its end: there are as many as people connect
KEPT = timedelta(days=1)  # the same of a session, and of all else that is redeemed
KEPT_LONG = timedelta(days=30)  # the same of what people make and look for in a list


class SqlAccess(ABC):
    """Who may do what, and what was done, over a `Session`."""

    keep: Keep

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    # Tokens

    def add_token(self, token: Token) -> None:
        self.write(lambda session: session.rows("add_token", **service_rows.token_values(token)))

    def find_token(self, token_hash: str) -> Token | None:
        found = self.read(lambda session: session.rows("find_token", hash=token_hash))
        return service_rows.token_from(found[0]) if found else None

    def list_tokens(self, tenant: str | None = None) -> list[Token]:
        def work(session: Session) -> list[Token]:
            found = session.rows("tokens") if tenant is None else session.rows("list_tokens", tenant=tenant)
            return [service_rows.token_from(row) for row in found]

        return sorted(self.read(work), key=lambda token: (token.created_at, token.id))

    def redeem_token(self, token_hash: str, now: datetime) -> Token | None:
        found = self.write(lambda session: session.rows("redeem_token", hash=token_hash, now=now))
        # As it was for the one who redeemed it: valid.
        return msgspec.structs.replace(service_rows.token_from(found[0]), revoked_at=None) if found else None

    def revoke_tokens(self, ids: Sequence[str], now: datetime) -> set[str]:
        if not ids:
            return set()
        return {row[0] for row in self.write(lambda session: session.rows("revoke_tokens", ids=list(ids), now=now))}

    def see_tokens(self, ids: Sequence[str], now: datetime) -> None:
        if ids:
            self.write(lambda session: session.rows("see_tokens", ids=list(ids), now=now))

    # Tenants

    def put_tenant(self, tenant: Tenant) -> None:
        self.write(lambda session: session.rows("put_tenant", **service_rows.tenant_values(tenant)))

    def delete_tenant(self, name: str) -> bool:
        return bool(self.write(lambda session: session.rows("delete_tenant", name=name)))

    def list_tenants(self) -> list[Tenant]:
        found = self.read(lambda session: [service_rows.tenant_from(row) for row in session.rows("tenants")])
        return sorted(found, key=lambda tenant: tenant.name)  # a database may have an order of its own for words

    def known_tenants(self) -> list[str]:
        found = {row[0] for row in self.read(lambda session: session.rows("known_tenants"))}
        return sorted(found - {EVERY_TENANT})

    # The audit log

    def add_audit(self, entries: Sequence[AuditEntry]) -> None:
        if entries:
            self.write(lambda session: self.add_audit_in(session, entries))

    def add_audit_in(self, session: Session, entries: Sequence[AuditEntry]) -> None:
        values = [in_order(AUDIT, service_rows.audit_values(entry)) for entry in entries]
        session.rows("add_audit", **self.spell(AUDIT, values))

    def list_audit(self, tenant: str | None, *, before: str | None, limit: int) -> list[AuditEntry]:
        values: dict[str, Any] = {"before": before or LAST_ID, "limit": limit}
        name = "all_audit"
        if tenant is not None:
            name, values["tenant"] = "list_audit", tenant
        return self.read(lambda session: [service_rows.audit_from(row) for row in session.rows(name, **values)])

    # Idempotency keys

    def remember(self, asked: Remembered) -> Remembered | None:
        def work(session: Session) -> Remembered | None:
            if session.rows("remember", **service_rows.answer_values(asked)):
                return None
            # It is there: the statement before keeps others from removing it until this transaction ends.
            return service_rows.answer_from(session.rows("find_answer", tenant=asked.tenant, key=asked.key)[0])

        return self.write(work)

    def answer(self, answered: Remembered) -> None:
        values = service_rows.answer_values(answered)
        del values["created_at"]
        self.write(lambda session: session.rows("answer", **values))

    def forget(self, tenant: str, key: str, fingerprint: str) -> None:
        self.write(lambda session: session.rows("forget", tenant=tenant, key=key, fingerprint=fingerprint))

    def delete_access_in(self, session: Session, now: datetime, limit: int) -> int:
        """Tokens, audit entries and answers whose time is over."""
        spans = {"shortly_before": now - KEPT_SHORT, "before": now - KEPT, "long_before": now - KEPT_LONG}
        gone = session.rows("delete_expired_tokens", limit=limit, **spans)
        gone += session.rows("delete_revoked_tokens", limit=limit, **spans)
        gone += session.rows("delete_audit", before=now - self.keep.audit, limit=limit)
        gone += session.rows("delete_answers", now=now, limit=limit)
        return len(gone)
