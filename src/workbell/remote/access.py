"""Methods about tokens, tenants and the audit log, over HTTP: `client.tokens`, `client.tenants`, `client.audit`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from workbell.errors import InvalidOption
from workbell.model.access import EVERY_TENANT, Token
from workbell.model.audit import AuditEntry
from workbell.model.clock import aware, seconds
from workbell.model.tenant import Tenant
from workbell.model.users import UserId
from workbell.remote import service_words as words
from workbell.remote.call import Plan, RemoteCall, delete, get, path, post
from workbell.remote.options import body
from workbell.remote.readers import every, up_to
from workbell.remote.transport import ServiceTransport

if TYPE_CHECKING:
    from workbell.access.tenants import TenantSettings


class RemoteNewToken(NamedTuple):
    """A token, and its text: this once, and never again."""

    token: Token
    text: str

    def __repr__(self) -> str:
        return f"NewToken({self.token.id!r}, text=…)"


class RemoteTokens:
    """The tokens of a tenant: `client.tokens`. It takes a token with the scope `admin`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def create(
        self,
        name: str = "",
        *,
        scopes: Iterable[str] = ("read",),
        tenant: str | None = None,
        user_id: UserId | None = None,
        expires: float | timedelta | datetime | None = None,
    ) -> RemoteNewToken:
        """Make a token: `token, text = client.tokens.create("grafana", scopes=["read"], expires=86400)`.

        The text is shown now, and never again. The tenant `"*"` lets the token act for every one of them.
        """
        return self._transport.follow(_create(name, scopes, tenant, user_id, expires))

    async def acreate(
        self,
        name: str = "",
        *,
        scopes: Iterable[str] = ("read",),
        tenant: str | None = None,
        user_id: UserId | None = None,
        expires: float | timedelta | datetime | None = None,
    ) -> RemoteNewToken:
        return await self._transport.afollow(_create(name, scopes, tenant, user_id, expires))

    def revoke(self, token_id: str, *, tenant: str | None = None) -> Token:
        """Revoke a token: there at once, in other servers within a second."""
        return self._transport.send(_revoke(token_id, tenant))

    async def arevoke(self, token_id: str, *, tenant: str | None = None) -> Token:
        return await self._transport.asend(_revoke(token_id, tenant))

    def list(self, *, tenant: str | None = None) -> Sequence[Token]:
        """All tokens, oldest first, also those that are revoked or over; for a token of all tenants, those too."""
        return self._transport.follow(_list(tenant))

    async def alist(self, *, tenant: str | None = None) -> Sequence[Token]:
        return await self._transport.afollow(_list(tenant))

    def get(self, token_id: str, *, tenant: str | None = None) -> Token:
        """A token by its id."""
        return self._transport.send(_get(token_id, tenant))

    async def aget(self, token_id: str, *, tenant: str | None = None) -> Token:
        return await self._transport.asend(_get(token_id, tenant))


class RemoteTenants:
    """All tenants, for a token of all; else one's own: `client.tenants`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def put(self, name: str, **settings: Unpack[TenantSettings]) -> Tenant:
        """Set what is named, the rest stays: `client.tenants.put("acme", weight=3, concurrency=10, rate="100/m")`."""
        return self._transport.send(_put(name, settings))

    async def aput(self, name: str, **settings: Unpack[TenantSettings]) -> Tenant:
        return await self._transport.asend(_put(name, settings))

    def get(self, name: str) -> Tenant:
        """A tenant that something was set for, or that has a run or a token."""
        return self._transport.send(_tenant(name))

    async def aget(self, name: str) -> Tenant:
        return await self._transport.asend(_tenant(name))

    def list(self) -> Sequence[Tenant]:
        """All that are known, by name; one that nothing was set for has a weight of 1 and no limits."""
        return self._transport.follow(_tenants())

    async def alist(self) -> Sequence[Tenant]:
        return await self._transport.afollow(_tenants())

    def delete(self, name: str) -> None:
        """Forget what was set for a tenant: its weight is 1 again, and its limits are gone. Its runs stay."""
        self._transport.send(delete(path("tenants", name)))

    async def adelete(self, name: str) -> None:
        await self._transport.asend(delete(path("tenants", name)))


class RemoteAudit:
    """Audit log of a tenant: `client.audit`. Actions over HTTP are written to it by the service."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def list(self, *, before: str | None = None, limit: int = 100, tenant: str | None = None) -> Sequence[AuditEntry]:
        """Entries, newest first: of this tenant, of the one that is named, or with `"*"` of all."""
        return self._transport.follow(_audit(before, limit, tenant))

    async def alist(
        self, *, before: str | None = None, limit: int = 100, tenant: str | None = None
    ) -> Sequence[AuditEntry]:
        return await self._transport.afollow(_audit(before, limit, tenant))


def _whose(tenant: str | None) -> dict[str, Any]:
    """A token of all tenants sees those for all beside those of any tenant."""
    return {} if tenant in (None, EVERY_TENANT) else {"tenant": str(tenant)}


def _create(
    name: str,
    scopes: Iterable[str],
    tenant: str | None,
    user_id: UserId | None,
    expires: float | timedelta | datetime | None,
) -> Plan[RemoteNewToken]:
    if isinstance(scopes, str):
        raise InvalidOption(f'scopes: give a list, such as ["{scopes[:20]}"].')
    fields: dict[str, Any] = {"name": name, "scopes": [*scopes], "every_tenant": tenant == EVERY_TENANT}
    if user_id is not None:
        fields["user_id"] = user_id
    if expires is not None:
        fields["expires"] = aware("expires", expires) if isinstance(expires, datetime) else seconds("expires", expires)
    while True:
        made: words.MadeTokenWords = yield post(
            path("tokens"), words.read_made_token, body("token", fields), **_whose(tenant)
        )
        if made.token is not None:
            return RemoteNewToken(made.value(), made.token)
        # The answer with its text was lost, and the text with it: that one is of no use to anybody.
        yield _revoke(made.id, tenant)


def _revoke(token_id: str, tenant: str | None) -> RemoteCall[Token]:
    where = path("tokens", token_id)
    return RemoteCall(method="DELETE", path=where, read=words.read_token, query=_whose(tenant))


def _list(tenant: str | None) -> Plan[list[Token]]:
    found: list[Token] = yield from every(path("tokens"), words.read_tokens, all=True, **_whose(tenant))
    every_one = tenant == EVERY_TENANT
    return [token for token in found if (token.tenant == EVERY_TENANT) is every_one]


def _get(token_id: str, tenant: str | None) -> RemoteCall[Token]:
    return get(path("tokens", token_id), words.read_token, **_whose(tenant))


def _put(name: str, settings: Any) -> RemoteCall[Tenant]:
    fields = body(f"tenant {name}", settings)
    return RemoteCall(method="PUT", path=path("tenants", name), read=words.read_tenant, body=fields)


def _tenant(name: str) -> RemoteCall[Tenant]:
    return get(path("tenants", name), words.read_tenant)


def _tenants() -> Plan[list[Tenant]]:
    return every(path("tenants"), words.read_tenants)


def _audit(before: str | None, limit: int, tenant: str | None) -> Plan[list[AuditEntry]]:
    all_of_them = True if tenant == EVERY_TENANT else None
    query = {"every_tenant": all_of_them, **_whose(tenant)}
    return up_to(limit, path("audit"), words.read_audit, start=before, **query)
