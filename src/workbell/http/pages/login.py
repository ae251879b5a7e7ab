"""Sign-in by a printed URL: its single-use token is exchanged for a session cookie."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workbell.access.tokens import made_with
from workbell.client.local import LocalClient
from workbell.errors import Unauthorized
from workbell.http.audit_trail import note_session
from workbell.http.service import Service, cookie_name
from workbell.model.access import EVERY_TENANT, Scope, Token, TokenKind

GOOD_FOR = timedelta(hours=24)  # a URL that nobody has opened
SESSION = timedelta(days=7)
NOT_VALID = "The token is not valid; it may have expired or been revoked."


def login_url(
    client: LocalClient, address: str, *, scopes: Sequence[str] = (Scope.ADMIN,), tenant: str = EVERY_TENANT
) -> str:
    """A URL that lets its first reader in: as an operator of everything, unless it says otherwise."""
    made = client.tokens.create(
        "sign-in URL",
        kind=TokenKind.LOGIN,
        scopes=scopes,
        tenant=tenant,
        user_id=0 if Scope.ADMIN in scopes else None,  # administrators read the system's notifications
        expires=GOOD_FOR,
        created_by="workbell",
    )
    return f"{address}/?token={made.text}"


async def log_in(service: Service, request: Request, text: str) -> Response:
    """Use up the token of the URL, and send the browser on to the same page without it."""
    await service.check_door(request)
    used = await service.client.tokens.aredeem(text, TokenKind.LOGIN)
    if used is None:
        raise Unauthorized(
            "This URL has been used, or its time is over; `workbell tokens url` makes another, and so does a new start "
            "of `workbell dev`."
        )
    return await _begin(service, request, used)


async def log_in_with(service: Service, request: Request, text: str) -> Response:
    """Session cookie for a token, with the same scopes. It ends with the token, at the latest."""
    service.check_origin(request)
    await service.check_door(request)
    token = await service.verified.acheck(text)
    if token is None or token.kind is not TokenKind.API:
        raise Unauthorized(NOT_VALID)
    return await _begin(service, request, token)


async def _begin(service: Service, request: Request, token: Token) -> Response:
    expires = SESSION
    if token.kind is TokenKind.API and token.expires_at is not None:
        expires = min(SESSION, token.expires_at - service.client.store.clock.now())
    tokens = service.client.tokens
    session = await tokens.acreate(
        token.name or token.id,  # the name in the audit log: who signed in
        kind=TokenKind.SESSION,
        scopes=token.scopes,
        tenant=token.tenant,
        user_id=token.user_id,
        expires=expires,
        created_by=made_with(token.id),
    )
    if token.kind is TokenKind.API and (await tokens.aget(token.id, tenant=token.tenant)).revoked_at is not None:
        # Meanwhile, or elsewhere a moment ago; the one who revoked it may not have seen this session.
        await tokens.arevoke(session.token.id, tenant=token.tenant)
        raise Unauthorized(NOT_VALID)
    await note_session(service, request, session.token, "session.begin")
    root = request.scope.get("root_path", "")
    answer = RedirectResponse(_back_to(request), status_code=303)
    answer.set_cookie(
        cookie_name(request),
        session.text,
        max_age=int(expires.total_seconds()),
        path=f"{root}/",
        httponly=True,
        samesite="lax",  # a link in a mail leads in; what changes something must come from our own page (check_origin)
        secure=request.url.scheme == "https",
    )
    return answer


def _back_to(request: Request) -> str:
    """The very address that was asked for, without the token that it may have had; so a link to a run leads there."""
    path = request.scope["raw_path"].decode("ascii", "replace")
    query = request.url.query
    return path if not query or "token" in request.query_params else f"{path}?{query}"


async def log_out(service: Service, request: Request) -> Response:
    """End the session of this browser."""
    text = request.cookies.get(cookie_name(request))
    token = None if text is None else await service.verified.acheck(text)
    if token is not None:
        await service.client.tokens.arevoke(token.id, tenant=token.tenant)
        await note_session(service, request, token, "session.end")
    root = request.scope.get("root_path", "")
    answer = Response(status_code=204)
    answer.delete_cookie(cookie_name(request), path=f"{root}/")
    return answer
