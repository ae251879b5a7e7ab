"""Tokens: make, see and revoke them; and what the caller's own one allows."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.access.describe import describe_token
from workbell.errors import Forbidden, TokenNotFound
from workbell.http.answers import JsonResponse
from workbell.http.call import ApiCall, call_of
from workbell.http.idempotency import MadeOnce, answer_secret
from workbell.http.routing import IDEMPOTENCY_KEY, Routes
from workbell.http.schemas.base import Limit, ListPage
from workbell.http.schemas.tokens import MadeToken, SelfShown, TokenBody, TokenShown
from workbell.model.access import EVERY_TENANT, ROUNDS, Scope, Token

routes = Routes("tokens")


@routes.add("POST", "/tokens", needs=Scope.ADMIN, answers=MadeToken, status=201, parameters=[IDEMPOTENCY_KEY])
async def create(request: Request, asked: TokenBody) -> Response:
    """Create a token; its text is shown this once.

    With an `Idempotency-Key` nothing is made twice; but the text, which is not stored, is in the first answer only.
    """
    call = call_of(request)
    _check(call, asked)

    async def make() -> MadeOnce:
        token, text = await call.client.tokens.acreate(
            asked.name,
            scopes=asked.scopes,
            tenant=EVERY_TENANT if asked.every_tenant else None,
            user_id=asked.user_id,
            expires=asked.expires,
            created_by=str(call.access.who),
        )
        call.subject = token.id
        return MadeOnce(_shown(call, token), {"token": text})

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


@routes.add("GET", "/tokens", needs=Scope.ADMIN, answers=ListPage[TokenShown])
async def list(  # noqa: A001
    request: Request,
    also_ended: Annotated[bool, Query(alias="all", description="Also those that are revoked or over.")] = False,
    after: Annotated[str, Query(description="The cursor: `next` of the page before.", max_length=100)] = "",
    limit: Limit = 100,
) -> Response:
    """List tokens, oldest first: the tenant's own, and for a token of all tenants also those for all."""
    call = call_of(request)
    known = [*await call.client.tokens.alist()]
    if call.access.tenant == EVERY_TENANT:
        known += await call.client.tokens.alist(tenant=EVERY_TENANT)
    now = call.client.store.clock.now()
    found = sorted(
        (token for token in known if token.id > after and (also_ended or token.is_valid(now))),
        key=lambda token: token.id,
    )
    following = found[limit - 1].id if len(found) > limit else None
    return JsonResponse({"items": [describe_token(token, now) for token in found[:limit]], "next": following})


@routes.add("GET", "/tokens/self", needs=None, answers=SelfShown)
async def me(request: Request) -> Response:
    """Say who the caller is, and what it may do."""
    call = call_of(request)
    access = call.access
    token = None if access.token is None else await call.client.tokens.aget(access.token, tenant=access.tenant)
    return JsonResponse(
        {
            "actor": access.actor,
            "tenant": access.tenant,
            "may": [scope for scope in Scope if access.may(scope)],
            "user_id": access.user_id,
            "agent": access.agent,
            "token": None if token is None else _shown(call, token),
        }
    )


@routes.add("GET", "/tokens/{token_id}", needs=Scope.ADMIN, answers=TokenShown)
async def get(request: Request, token_id: str) -> Response:
    """Show a token."""
    call = call_of(request)
    return JsonResponse(_shown(call, await _find(call, token_id)))


@routes.add("DELETE", "/tokens/{token_id}", needs=Scope.ADMIN, answers=TokenShown)
async def revoke(request: Request, token_id: str) -> Response:
    """Revoke a token: here at once, in other servers within a second."""
    call = call_of(request)
    found = await _find(call, token_id)
    return JsonResponse(_shown(call, await call.client.tokens.arevoke(found.id, tenant=found.tenant)))


async def _find(call: ApiCall, token_id: str) -> Token:
    """One of the tenant; for a token of all tenants also one for all."""
    try:
        return await call.client.tokens.aget(token_id)
    except TokenNotFound:
        if call.access.tenant != EVERY_TENANT:
            raise
        return await call.client.tokens.aget(token_id, tenant=EVERY_TENANT)


def _shown(call: ApiCall, token: Token) -> dict[str, Any]:
    return describe_token(token, call.client.store.clock.now())
