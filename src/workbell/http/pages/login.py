"""Sign-in: the single-use token of a printed URL, or a token of one's own, is exchanged for a session cookie.

Both by POST from our own page: a GET changes nothing, so that scanners of links do not use a URL up, and no other page
can sign a browser in (login CSRF).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workbell.access.tokens import made_with
from workbell.client.local import LocalClient
from workbell.errors import Unauthorized
from workbell.http.policies.audit_trail import audited_as
from workbell.http.service import Service
from workbell.model.access import EVERY_TENANT, VOUCHED, Scope, Token, TokenKind, access_of
from workbell.model.audit import Actor, ActorKind

GOOD_FOR = timedelta(hours=24)  # a URL that nobody has opened
SESSION = timedelta(days=7)
VOUCHED_SESSION = timedelta(hours=1)  # of a person whose own application may let them go without our hearing of it
NOT_VALID = "The token is not valid; it may have expired or been revoked."


def login_url(
    client: LocalClient,
    address: str,
    *,
    scopes: Sequence[str] = (Scope.ADMIN,),
    tenant: str = EVERY_TENANT,
    name: str = "sign-in URL",
    good_for: timedelta = GOOD_FOR,
    created_by: str = "workbell",
) -> str:
    """A URL that lets its first reader in: as an operator of everything, unless it says otherwise."""
    made = client.tokens.create(
        name,
        kind=TokenKind.LOGIN,
        scopes=scopes,
        tenant=tenant,
        user_id=0 if Scope.ADMIN in scopes else None,  # administrators read the system's notifications
        expires=good_for,
        created_by=created_by,
    )
    return f"{address}/?token={made.text}"


async def log_in(service: Service, request: Request, text: str) -> Response:
    """Session cookie for the token of a printed URL, which is used up."""
    service.check_host(request)
    service.check_origin(request)
    used = await service.client.tokens.aredeem(text, TokenKind.LOGIN)
    if used is None:
        service.count_failure(request)
        raise Unauthorized(
            "This URL has been used, or its time is over; `workbell tokens url` makes another, and so does a new start "
            "of `workbell dev`."
        )
    return await _begin(service, request, used)


async def log_in_with(service: Service, request: Request, text: str) -> Response:
    """Session cookie for a token, with the same scopes. It ends with the token, at the latest."""
    service.check_host(request)
    service.check_origin(request)
    token = await service.verified.acheck(text)
    if token is None or token.kind is not TokenKind.API:
        service.count_failure(request)
        raise Unauthorized(NOT_VALID)
    return await _begin(service, request, token)


async def _begin(service: Service, request: Request, token: Token) -> Response:
    expires = VOUCHED_SESSION if token.created_by.startswith(VOUCHED) else SESSION
    if token.kind is TokenKind.API and token.expires_at is not None:
        expires = min(SESSION, token.expires_at - service.client.store.clock.now())
    tokens, name = service.client.tokens, token.name or token.id  # in the audit log: who signed in
    tenant = service.home_of(access_of(token))

    def actor(session_id: str) -> Actor:
        return Actor(kind=ActorKind.SESSION, name=name, token=session_id, made_with=token.id, user_id=token.user_id)

    async with audited_as(service.client, request, "session.begin", actor, tenant=tenant) as entry:
        session = await tokens.acreate(
            name,
            kind=TokenKind.SESSION,
            scopes=token.scopes,
            tenant=token.tenant,
            user_id=token.user_id,
            expires=expires,
            created_by=made_with(token.id),
        )
        entry.made = session.token.id
    if token.kind is TokenKind.API and (await tokens.aget(token.id, tenant=token.tenant)).revoked_at is not None:
        # Meanwhile, or elsewhere a moment ago; the one who revoked it may not have seen this session. The audit entry
        # stays: a session was made.
        await tokens.arevoke(session.token.id, tenant=token.tenant)
        raise Unauthorized(NOT_VALID)
    answer = RedirectResponse(_back_to(request), status_code=303)
    service.session_cookie.set(answer, request, session.text, int(expires.total_seconds()))
    return answer


def _back_to(request: Request) -> str:
    """The address that the form was sent to: the one that it stands at, so that a link to a run leads there."""
    path = request.scope["raw_path"].decode("ascii", "replace")
    return f"{path}?{request.url.query}" if request.url.query else path


async def log_out(service: Service, request: Request) -> Response:
    """End the session of this browser."""
    text = service.session_cookie.read(request)
    token = None if text is None else await service.verified.acheck(text)
    if token is not None:
        access = access_of(token)
        tenant = service.home_of(access)
        async with audited_as(
            service.client, request, "session.end", lambda _made: access.who, tenant=tenant, subject=token.id
        ):
            await service.client.tokens.arevoke(token.id, tenant=token.tenant)
    answer = Response(status_code=204)
    service.session_cookie.delete(answer, request)
    return answer
