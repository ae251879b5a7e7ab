"""Tokens, and what the caller's own one allows."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, RUN_ID, RequestBody, Seconds, Shown, User, When
from workbell.model.access import Scope, TokenKind

TEXT = "wb_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh84O7WPJ"


class TokenShown(Shown):
    """A token; its text is shown once, when it is made."""

    id: str = Field(examples=[RUN_ID])
    name: str = Field(examples=["grafana"])
    tenant: str = Field(description="`*`: every tenant.", examples=["default"])
    kind: TokenKind
    scopes: list[Scope] = Field(examples=[["read"]])
    user_id: User | None = Field(description="Whose notifications it may read.")
    agent: str | None = Field(description="The id of the agent that it belongs to.")
    created_by: str
    created_at: datetime = Field(examples=[AT])
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")
    valid: bool


class TokenBody(RequestBody):
    """A token to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "grafana", "scopes": ["read"], "expires": 86400}]}
    )

    name: str = Field("", max_length=200)
    scopes: list[Scope] = Field(default_factory=lambda: [Scope.READ], max_length=len(Scope))
    user_id: User | None = Field(None, description="Whose notifications it may read.")
    expires: Seconds | When | None = Field(None, description="In so many seconds, or at a time with its zone.")
    every_tenant: bool = Field(False, description="For all tenants; only a token of all tenants may ask for that.")


class MadeToken(TokenShown):
    """A token that was made."""

    token: str | None = Field(
        description="The text, shown this once; null where an Idempotency-Key repeats the answer.",
        examples=[TEXT],
    )


class SelfShown(Shown):
    """Access of the caller."""

    actor: str = Field(description="The caller's name; the audit log has its kind in front.", examples=["grafana"])
    tenant: str = Field(description="`*`: every tenant.", examples=["default"])
    may: list[Scope] = Field(description="The scopes, with those that they include.", examples=[["read", "enqueue"]])
    user_id: User | None
    agent: str | None
    token: TokenShown | None = Field(description="Null where no token was needed.")
