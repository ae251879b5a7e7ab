"""Handlers of access: tokens, the session of a browser, tenants with their weights and limits, and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice

from starlette.responses import Response

from workbell.access.token_request import end_of
from workbell.access.tokens import check_page, shown_tokens
from workbell.errors import Forbidden, TenantNotFound, TokenNotFound
from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_id, by_name, page_of, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.pages.login import log_out
from workbell.http.policies.idempotency import MadeOnce, answer_secret
from workbell.model.access import EVERY_TENANT, ROUNDS, Scope, Token
from workbell.wire import audit, session, tenants, tokens
from workbell.wire.audit import AuditQuery, AuditShown
from workbell.wire.fields import given
from workbell.wire.operation import ListPage
from workbell.wire.tenants import TenantBody, TenantShown, TenantsQuery
from workbell.wire.tokens import MadeToken, SelfShown, TokenBody, TokenShown, TokensQuery

served = Served()


@served(tokens.create)
async def create(call: ApiCall, body: TokenBody) -> Response:
    _check(call, body)

    async def make() -> MadeOnce:
        expires_at = end_of(body.expires, call.client.store.clock.now())
        call.detail = {"scopes": body.scopes, "expires_at": expires_at}
        token, text = await call.client.tokens.acreate(
            body.name,
            scopes=body.scopes,
            tenant=EVERY_TENANT if body.every_tenant else None,
            user_id=body.user_id,
            expires=expires_at,
            created_by=str(call.access.who),
        )
        call.subject = token.id
        return MadeOnce(MadeToken.of(token, call.client.store.clock.now(), token=None), {"token": text})

    return await answer_secret(call, make)  # not `creates=True`: what is stored with the key must not hold the text


HINTS = {
    Scope.AGENT: "; an agent gets its token by pairing",
    **dict.fromkeys(ROUNDS, "; who runs the service makes it with `workbell tokens create`"),
}


def _check(call: ApiCall, asked: TokenBody) -> None:
    """Refuse scopes and tenants that the caller does not have."""
    access = call.access
    if asked.every_tenant and access.tenant != EVERY_TENANT:
        raise Forbidden("Only a token of all tenants may make another one for all.")
    for scope in asked.scopes:
        if not access.may(scope):
            hint = HINTS.get(scope, "")
            raise Forbidden(f"{access.actor} does not have the scope {scope!s}, and cannot grant it{hint}.")


@served(tokens.list_)
async def list_(call: ApiCall, query: TokensQuery) -> ListPage[TokenShown]:
    check_page(query.after or None, query.limit)
    store, tenant = call.client.store, call.client.tenant
    whose, now = (tenant, EVERY_TENANT) if call.access.tenant == EVERY_TENANT else (tenant,), store.clock.now()

    def read() -> Sequence[Token]:
        """One more than the page has: of those that are shown, in the order of their ids, page by page of the store."""
        known = merge(*(shown_tokens(store, one, query.after or None) for one in whose), key=by_id)
        shown = (one for one in known if query.also_ended or one.is_valid(now) or one.unreadable is not None)
        return [*islice(shown, query.limit + 1)]

    found = await call.client.runtime.hop(read)
    return page_of(found, by_id, query.after, query.limit, lambda token: TokenShown.of(token, now))


@served(tokens.me)
async def me(call: ApiCall) -> SelfShown:
    access = call.access
    token = None if access.token is None else await call.client.tokens.aget(access.token, tenant=access.tenant)
    return SelfShown(
        actor=access.actor,
        tenant=access.tenant,
        may=[scope for scope in Scope if access.may(scope)],
        user_id=access.user_id,
        agent=access.agent,
        token=None if token is None else _shown(call, token),
    )


@served(tokens.get)
async def get(call: ApiCall, token_id: str) -> TokenShown:
    return _shown(call, await _find(call, token_id))


@served(tokens.revoke)
async def revoke(call: ApiCall, token_id: str) -> TokenShown:
    found = await _find(call, token_id)
    return _shown(call, await call.client.tokens.arevoke(found.id, tenant=found.tenant))


async def _find(call: ApiCall, token_id: str) -> Token:
    """One of the tenant; for a token of all tenants also one for all."""
    try:
        return await call.client.tokens.aget(token_id)
    except TokenNotFound:
        if call.access.tenant != EVERY_TENANT:
            raise
        return await call.client.tokens.aget(token_id, tenant=EVERY_TENANT)


def _shown(call: ApiCall, token: Token) -> TokenShown:
    return TokenShown.of(token, call.client.store.clock.now())


@served(session.end)
async def end_session(call: ApiCall) -> Response:
    return await log_out(call.service, call.request)


@served(tenants.list_)
async def list_tenants(call: ApiCall, query: TenantsQuery) -> ListPage[TenantShown]:
    if call.access.tenant == EVERY_TENANT:
        known = call.client.tenants
        source = PageSource(
            lambda after, number: known.list(after=after or "", limit=number), by_name, TenantShown.of, WITH_TEXT
        )
        page = await call.client.runtime.hop(read_page, source, query.after, query.limit)
        return page.answer(by_name)
    try:
        own = [await call.client.tenants.aget(call.access.tenant)]
    except TenantNotFound:
        own = []
    return page_of(own, by_name, query.after, query.limit, TenantShown.of)


@served(tenants.get)
async def get_tenant(call: ApiCall, name: str) -> TenantShown:
    _check_known(call, name)
    return TenantShown.of(await call.client.tenants.aget(name))


@served(tenants.put)
async def put(call: ApiCall, name: str, body: TenantBody) -> TenantShown:
    _check_may_change(call, name)
    call.tenant = name  # the entry in the audit log is for the tenant to read
    tenant = await call.client.tenants.aput(name, **given(body))
    return TenantShown.of(tenant)


@served(tenants.delete)
async def delete(call: ApiCall, name: str) -> None:
    _check_may_change(call, name)
    call.tenant = name
    await call.client.tenants.adelete(name)


def _check_known(call: ApiCall, name: str) -> None:
    """Raise NotFound for another tenant: a token of one tenant must not learn which others exist."""
    if not call.access.may_act_for(name):
        raise TenantNotFound(f"There is no tenant {name[:40]!r} here.")


def _check_may_change(call: ApiCall, name: str) -> None:
    """A tenant must not raise its own limits."""
    _check_known(call, name)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("A tenant's weight and limits are set with a token of all tenants, not with its own.")


@served(audit.list_)
async def list_entries(call: ApiCall, query: AuditQuery) -> ListPage[AuditShown]:
    if query.every_tenant and call.access.tenant != EVERY_TENANT:
        raise Forbidden("Only a token of all tenants may see what was done for all.")
    whose = EVERY_TENANT if query.every_tenant else None
    entries = call.client.audit
    source = PageSource(
        lambda cursor, number: entries.list(before=cursor, limit=number, tenant=whose), by_id, AuditShown.of, WITH_TEXT
    )
    page = await call.client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)
