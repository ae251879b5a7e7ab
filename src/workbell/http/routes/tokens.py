"""Handlers of tokens: make, see and revoke them; and what the caller's own one allows."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice

from starlette.responses import Response

from workbell.access.token_request import end_of
from workbell.access.tokens import check_page, shown_tokens
from workbell.errors import Forbidden, TokenNotFound
from workbell.http.framework.bounded_pages import by_id, page_of
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.policies.idempotency import MadeOnce, answer_secret
from workbell.model.access import EVERY_TENANT, ROUNDS, Scope, Token
from workbell.wire import tokens
from workbell.wire.operation import ListPage
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
