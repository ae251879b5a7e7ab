"""Access control: tokens, their scopes, and the access that a request has."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, assert_never

import msgspec
from msgspec import Meta

from workbell.errors import Forbidden, InvalidOption
from workbell.model.audit import Actor, ActorKind
from workbell.model.job import TENANT
from workbell.model.run_settings import read_user
from workbell.model.unreadable import UnreadableColumns
from workbell.model.users import UserId

EVERY_TENANT = "*"  # the tenant of a token that may act for any of them


class Scope(StrEnum):
    """Scope of a token. `admin` includes `operate`, which includes `enqueue` and `read`."""

    READ = "read"  # read everything of the tenant
    ENQUEUE = "enqueue"  # make runs and events
    OPERATE = "operate"  # cancel, retry, pause; change schedules, triggers and webhooks
    ADMIN = "admin"  # tokens, tenants, agents, the audit log
    AGENT = "agent"  # work as an agent, and nothing else
    DISPATCH = "dispatch"  # have the server do a round of dispatch, and nothing else
    CONSUME = "consume"  # have the server work on queued runs, and nothing else


INCLUDED = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.ENQUEUE: frozenset({Scope.ENQUEUE}),
    Scope.OPERATE: frozenset({Scope.OPERATE, Scope.ENQUEUE, Scope.READ}),
    Scope.ADMIN: frozenset({Scope.ADMIN, Scope.OPERATE, Scope.ENQUEUE, Scope.READ}),
    Scope.AGENT: frozenset({Scope.AGENT}),
    Scope.DISPATCH: frozenset({Scope.DISPATCH}),
    Scope.CONSUME: frozenset({Scope.CONSUME}),
}
ROUNDS = frozenset({Scope.DISPATCH, Scope.CONSUME})  # of cron triggers and queues; one token may have both
ALONE = ROUNDS | {Scope.AGENT}  # of programs: no other scope includes them, or goes with them


class TokenKind(StrEnum):
    """Kind of a token. Tokens that are redeemed can be used once."""

    API = "api"  # a program's, or a person's at the command line
    SESSION = "session"  # a browser's, in a cookie
    LOGIN = "login"  # redeemed for a session: the URL that is printed
    TICKET = "ticket"  # redeemed for a WebSocket
    PAIRING = "pairing"  # redeemed for an agent's own token
    AGENT = "agent"


REDEEMED = frozenset({TokenKind.LOGIN, TokenKind.TICKET, TokenKind.PAIRING})


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A stored token: never its text, only the SHA-256 of it."""

    id: str
    hash: Annotated[str, Meta(description="The SHA-256 of its text.")]
    created_at: datetime
    tenant: str = TENANT  # or `*`
    kind: TokenKind = TokenKind.API
    name: str = ""
    scopes: tuple[Scope, ...] = ()
    user_id: UserId | None = None  # whose notifications it may read, and whose runs it makes
    agent: str | None = None
    created_by: str = ""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    unreadable: UnreadableColumns | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it lets anybody in: not revoked, not over, and what the store has of it can be read."""
        over = self.expires_at is not None and now >= self.expires_at
        return self.revoked_at is None and self.unreadable is None and not over


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Access of a caller: its scopes, its tenant, and its name in the audit log."""

    tenant: Annotated[str, Meta(description="The tenant it acts for; `*`: any.")] = TENANT
    scopes: Annotated[frozenset[Scope], Meta(description="What it may do.")] = frozenset()
    actor: Annotated[str, Meta(description="The name in the audit log.")] = ""
    user_id: Annotated[
        UserId | None, Meta(description="Which person it is: whose notifications it reads, and whose runs it makes.")
    ] = None
    agent: Annotated[str | None, Meta(description="The id of the agent that it is.")] = None
    token: Annotated[str | None, Meta(description="The id of the token behind it; set by the service.")] = None
    kind: Annotated[
        ActorKind, Meta(description="Kind of the actor in the audit log; set by the service, here always `app`.")
    ] = ActorKind.APP
    made_with: Annotated[
        str | None, Meta(description="The id of the token that a session was made with; set by the service.")
    ] = None

    @property
    def who(self) -> Actor:
        """The caller, for the audit log and for `created_by`."""
        return Actor(kind=self.kind, name=self.actor, token=self.token, made_with=self.made_with, user_id=self.user_id)

    def may(self, scope: Scope) -> bool:
        return scope in _included(self.scopes)

    def may_act_for(self, tenant: str) -> bool:
        return self.tenant in (EVERY_TENANT, tenant)

    def owner(self, asked: UserId | None) -> UserId | None:
        """Whose that is which the caller makes; None: whoever the defaults say.

        A run's user is no claim: it is the person who made it, or one that an operator named.
        """
        if asked is None:
            return self.user_id or None  # the system is no person: what it makes goes by the defaults
        if self.user_id is None or self.may(Scope.OPERATE) or read_user(asked) == self.user_id:
            return asked
        raise Forbidden(
            f"user_id: {asked!r} is somebody else, and this caller is {self.user_id!r}; leave it out, or use a caller "
            "with the scope operate."
        )


@lru_cache(maxsize=256)
def _included(scopes: frozenset[Scope]) -> frozenset[Scope]:
    """Scopes, and those that they include."""
    return frozenset().union(*(INCLUDED[scope] for scope in scopes))


VOUCHED = "vouched "  # begins `created_by` of a sign-in URL for a person of another application, which says for whom
MADE_WITH = "token "  # before the id of the token that a session was made with, in its `created_by`


def access_of(token: Token) -> Access:
    is_session = token.kind is TokenKind.SESSION and token.created_by.startswith(MADE_WITH)
    return Access(
        tenant=token.tenant,
        scopes=frozenset(token.scopes),
        actor=token.name or token.id,
        user_id=token.user_id,
        agent=token.agent,
        token=token.id,
        kind=_kind_of(token.kind),
        made_with=token.created_by.removeprefix(MADE_WITH) if is_session else None,
    )


def _kind_of(kind: TokenKind) -> ActorKind:
    match kind:
        case TokenKind.SESSION:
            return ActorKind.SESSION
        case TokenKind.AGENT:
            return ActorKind.AGENT
        case TokenKind.API | TokenKind.LOGIN | TokenKind.TICKET | TokenKind.PAIRING:
            return ActorKind.TOKEN
        case _:
            assert_never(kind)


def scopes_of(words: Iterable[str]) -> tuple[Scope, ...]:
    """Scopes by their words, each once and in the order of the enum."""
    try:
        found = {Scope(word) for word in words}
    except ValueError as error:
        raise InvalidOption(f"scopes: {error}; the scopes are {', '.join(Scope)}.") from None
    return tuple(scope for scope in Scope if scope in found)
