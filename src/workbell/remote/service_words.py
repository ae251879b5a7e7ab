"""Decoders of answers about tokens, tenants, the audit log, agents and notifications."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.model.access import Scope, Token, TokenKind
from workbell.model.agent import Agent
from workbell.model.audit import AuditEntry
from workbell.model.clock import EPOCH
from workbell.model.notification import Notification
from workbell.model.tenant import Tenant
from workbell.model.users import UserId
from workbell.remote.readers import one, page, plain
from workbell.remote.words import NULL, text

UNTOLD = ""  # the hash of a token, which nobody outside needs


class TokenWords(msgspec.Struct, frozen=True, kw_only=True):
    """A token as the API shows it."""

    id: str
    created_at: datetime
    tenant: str
    kind: TokenKind
    name: str = ""
    scopes: tuple[Scope, ...] = ()
    user_id: UserId | None = None
    agent: str | None = None
    created_by: str = ""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def value(self) -> Token:
        own = {name: getattr(self, name) for name in TokenWords.__struct_fields__}
        return Token(hash=UNTOLD, **own)


class MadeTokenWords(TokenWords, frozen=True, kw_only=True):
    """A new token. Its text is shown once: a repeated request gets none."""

    token: str | None = None


class PairingWords(msgspec.Struct, frozen=True):
    """A token that pairs one machine, with few fields."""

    id: str
    token: str
    expires_at: datetime

    def value(self) -> Token:
        return Token(
            id=self.id, hash=UNTOLD, created_at=EPOCH, tenant="", kind=TokenKind.PAIRING, expires_at=self.expires_at
        )


class TenantWords(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    created_at: datetime | None = None
    updated_at: datetime | None = None
    description: str = ""
    weight: int = 1
    concurrency: int | None = None
    rate: str | None = None

    def value(self) -> Tenant:
        return Tenant(
            name=self.name,
            created_at=self.created_at or EPOCH,
            updated_at=self.updated_at or EPOCH,
            description=self.description,
            weight=self.weight,
            concurrency=self.concurrency,
            rate=self.rate,
        )


class AuditWords(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    tenant: str
    at: datetime
    actor: str
    action: str
    subject: str = ""
    detail: msgspec.Raw = NULL
    address: str | None = None

    def value(self) -> AuditEntry:
        return AuditEntry(
            id=self.id,
            tenant=self.tenant,
            at=self.at,
            actor=self.actor,
            action=self.action,
            subject=self.subject,
            detail_text=text(self.detail),
            address=self.address,
        )


class AgentWords(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    tenant: str
    created_at: datetime
    labels: tuple[str, ...] = ()
    jobs: tuple[str, ...] | None = None
    version: str = ""
    host: str = ""
    metrics: msgspec.Raw = NULL
    seen_at: datetime | None = None
    enabled: bool = True

    def value(self) -> Agent:
        return Agent(
            id=self.id,
            name=self.name,
            tenant=self.tenant,
            created_at=self.created_at,
            labels=self.labels,
            jobs=self.jobs,
            version=self.version,
            host=self.host,
            metrics_text=text(self.metrics),
            seen_at=self.seen_at,
            enabled=self.enabled,
        )


class NotificationWords(msgspec.Struct, frozen=True, kw_only=True):
    """A notification; its tenant is the caller's."""

    id: str
    created_at: datetime
    user_id: UserId | None = None
    data: msgspec.Raw = NULL
    read_at: datetime | None = None
    tenant: str = ""

    def value(self) -> Notification:
        data = bytes(self.data).decode()
        return Notification(self.id, self.tenant, self.user_id, data, self.created_at, self.read_at)


read_token, read_tokens = one(TokenWords), page(TokenWords)
read_made_token, read_pairing = plain(MadeTokenWords), plain(PairingWords)
read_tenant, read_tenants = one(TenantWords), page(TenantWords)
read_audit = page(AuditWords)
read_agent, read_agents = one(AgentWords), page(AgentWords)
read_notification, read_notifications = one(NotificationWords), page(NotificationWords)
