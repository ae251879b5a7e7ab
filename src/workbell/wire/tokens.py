"""Tokens, and what the caller's own one allows."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from workbell.model.access import Scope, Token, TokenKind
from workbell.model.clock import Instant
from workbell.model.pairing import shown_name
from workbell.model.schema_examples import AT, RUN_ID
from workbell.model.unreadable import UNREADABLE, sentence_of, told
from workbell.wire.fields import Cursor, Limit, Seconds, User, When
from workbell.wire.operation import IDEMPOTENCY_KEY, ListPage, Operations, Query, RequestBody, Shown

TEXT = "wb_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh84O7WPJ"  # an example
WHOSE = "Which person it is: whose notifications it reads, and whose runs it makes."


class TokenShown(Shown, frozen=True, kw_only=True):
    """A token; its text is shown once, when it is made."""

    id: Annotated[str, Meta(description="Its id; not its text.", examples=[RUN_ID])]
    name: Annotated[str, Meta(description="What it is called; the actor of the audit log.", examples=["grafana"])]
    tenant: Annotated[str, Meta(description="The tenant that it acts for; `*`: any.", examples=["default"])]
    kind: Annotated[TokenKind, Meta(description="`login`, `ticket` and `pairing` are good for once.")]
    scopes: Annotated[list[Scope], Meta(examples=[["read"]])]
    user_id: Annotated[
        User | None, Meta(description="Which person it is: whose notifications it reads, and whose runs it makes.")
    ]
    agent: Annotated[str | None, Meta(description="The id of the agent that it belongs to.")]
    created_by: str
    created_at: Annotated[Instant, Meta(examples=[AT])]
    expires_at: Annotated[Instant | None, Meta(description="When it ends by itself.")]
    revoked_at: Instant | None
    last_used_at: Annotated[Instant | None, Meta(description="When it was last used, to about a minute.")]
    valid: bool
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(cls, token: Token, now: Instant, /, **more: Any) -> Self:
        own = {name: getattr(token, name) for name in TokenShown.__struct_fields__ if name in Token.__struct_fields__}
        own |= {"name": shown_name(token), "scopes": list(token.scopes), "unreadable": sentence_of(token)}
        return cls(**own, valid=token.is_valid(now), **more)

    def value(self) -> Token:
        """The token without its hash, which nobody outside needs."""
        own = {name: getattr(self, name) for name in TokenShown.__struct_fields__ if name in Token.__struct_fields__}
        return Token(hash="", **own | {"scopes": tuple(self.scopes), "unreadable": told(self.unreadable)})


class TokenBody(RequestBody, frozen=True, kw_only=True):
    """A token to be made."""

    name: Annotated[str, Meta(max_length=200)] = ""
    scopes: Annotated[list[Scope], Meta(max_length=len(Scope))] = msgspec.field(default_factory=lambda: [Scope.READ])
    user_id: Annotated[
        User | None, Meta(description="Which person it is: whose notifications it reads, and whose runs it makes.")
    ] = None
    expires: Annotated[Seconds | When | None, Meta(description="In so many seconds, or at a time with its zone.")] = (
        None
    )
    every_tenant: Annotated[
        bool, Meta(description="For all tenants; only a token of all tenants may ask for that.")
    ] = False


class MadeToken(TokenShown, frozen=True, kw_only=True):
    """A token that was made."""

    token: Annotated[
        str | None,
        Meta(
            description="The text, shown this once; null where an Idempotency-Key repeats the answer.",
            examples=[TEXT],
        ),
    ]


class SelfShown(Shown, frozen=True, kw_only=True):
    """Access of the caller."""

    actor: Annotated[
        str, Meta(description="The caller's name; the audit log has its kind in front.", examples=["grafana"])
    ]
    tenant: Annotated[str, Meta(description="`*`: every tenant.", examples=["default"])]
    may: Annotated[
        list[Scope],
        Meta(description="The scopes, with those that they include.", examples=[["read", "enqueue"]]),
    ]
    user_id: User | None
    agent: str | None
    token: Annotated[TokenShown | None, Meta(description="Null where no token was needed.")]


class TokensQuery(Query, frozen=True, kw_only=True):
    """Which tokens."""

    also_ended: Annotated[bool, Meta(description="Also those that are revoked or over.")] = msgspec.field(
        default=False, name="all"
    )
    after: Cursor = ""
    limit: Limit = 100


operations = Operations("tokens")

create = operations.add(
    "create",
    "POST",
    "/tokens",
    Scope.ADMIN,
    MadeToken,
    """Create a token; its text is shown this once.

With an `Idempotency-Key` nothing is made twice; but the text, which is not stored, is in the first answer only.""",
    status=201,
    body=TokenBody,
    examples=[{"name": "grafana", "scopes": ["read"], "expires": 86400}],
    headers=(IDEMPOTENCY_KEY,),
)
list_ = operations.add(
    "list",
    "GET",
    "/tokens",
    Scope.ADMIN,
    ListPage[TokenShown],
    "List tokens, oldest first: the tenant's own, and for a token of all tenants also those for all.",
    query=TokensQuery,
)
me = operations.add("me", "GET", "/tokens/self", None, SelfShown, "Say who the caller is, and what it may do.")
get = operations.add("get", "GET", "/tokens/{token_id}", Scope.ADMIN, TokenShown, "Show a token.")
revoke = operations.add(
    "revoke",
    "DELETE",
    "/tokens/{token_id}",
    Scope.ADMIN,
    TokenShown,
    "Revoke a token: here at once, in other servers within a second.",
)
