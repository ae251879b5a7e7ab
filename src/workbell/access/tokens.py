"""The verbs about tokens: `bell.tokens.create`, list, get, revoke; and check and redeem, for who is handed one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from workbell.access.asked import Expires, checked_name, checked_scopes, checked_tenant, checked_user, end_of
from workbell.access.secret_text import NewToken, hash_of, is_token, new_text, without_tokens
from workbell.errors import InvalidOption, TokenNotFound
from workbell.model.access import EVERY_TENANT, REDEEMED, Token, TokenKind
from workbell.model.ids import is_id, new_id
from workbell.model.job import NAME_LIMIT
from workbell.model.payload import clean_text
from workbell.model.users import UserId

if TYPE_CHECKING:
    from workbell.client.client import Client

PASSING = frozenset({TokenKind.LOGIN, TokenKind.TICKET})  # made by the thousand and good for seconds: nothing to list


def made_with(token_id: str) -> str:
    """Who made a session, if a token did."""
    return f"token {token_id}"


class Tokens:
    """The tokens of a tenant: `bell.tokens`. Those of all tenants are `bell.tokens.list(tenant="*")`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    # Make and end

    def create(
        self,
        name: str = "",
        *,
        scopes: Iterable[str] = ("read",),
        tenant: str | None = None,
        user_id: UserId | None = None,
        expires: Expires | None = None,
        kind: TokenKind = TokenKind.API,
        agent: str | None = None,
        created_by: str = "",
    ) -> NewToken:
        """Make a token: `token, text = bell.tokens.create("grafana", scopes=["read"], expires=86400)`.

        The text is told now, and never shown again. The tenant is this one unless another is named; `"*"` lets the
        token act for every one of them. Without scopes, but with a `user_id`, it reads this person's notifications.
        """
        store, kind, user_id = self._client.store, TokenKind(kind), checked_user(user_id)
        now, text = store.clock.now(), new_text()
        token = Token(
            id=new_id(),
            hash=hash_of(text),
            created_at=now,
            tenant=self._whose(tenant),
            kind=kind,
            name=checked_name(name),
            scopes=checked_scopes(scopes, user_id, kind),
            user_id=user_id,
            agent=agent,
            created_by=clean_text(without_tokens(created_by), NAME_LIMIT),
            expires_at=end_of(expires, now),
        )
        store.tokens.add(token)
        return NewToken(token, text)

    async def acreate(
        self,
        name: str = "",
        *,
        scopes: Iterable[str] = ("read",),
        tenant: str | None = None,
        user_id: UserId | None = None,
        expires: Expires | None = None,
        kind: TokenKind = TokenKind.API,
        agent: str | None = None,
        created_by: str = "",
    ) -> NewToken:
        return await self._client.hop(
            lambda: self.create(
                name,
                scopes=scopes,
                tenant=tenant,
                user_id=user_id,
                expires=expires,
                kind=kind,
                agent=agent,
                created_by=created_by,
            )
        )

    def revoke(self, token_id: str, *, tenant: str | None = None) -> Token:
        """Let a token be valid no more: here at once, in other processes within a second.

        The sessions of browsers that signed in with it end as well.
        """
        found = self.get(token_id, tenant=tenant)
        now = self._client.store.clock.now()
        changed = self._client.store.tokens.revoke([found.id], now)
        # Only now: whoever signs in with it makes a session first, and then looks whether the token is still valid.
        sessions = self._sessions_of(found)
        if sessions:
            self._client.store.tokens.revoke(sessions, now)
        for token in (found.id, *sessions):  # after the write: else it could be read, and kept, once more
            self._client.verified.forget(token)
        return (
            msgspec.structs.replace(found, revoked_at=now) if found.id in changed else self.get(found.id, tenant=tenant)
        )

    def _sessions_of(self, token: Token) -> Sequence[str]:
        known, mark = self._client.store.tokens.list(token.tenant), made_with(token.id)
        return [one.id for one in known if one.kind is TokenKind.SESSION and one.created_by == mark]

    async def arevoke(self, token_id: str, *, tenant: str | None = None) -> Token:
        return await self._client.hop(lambda: self.revoke(token_id, tenant=tenant))

    # Look

    def list(self, *, tenant: str | None = None) -> Sequence[Token]:
        """All tokens, oldest first, also those that are revoked or over; not those that live for seconds only."""
        return [token for token in self._client.store.tokens.list(self._whose(tenant)) if token.kind not in PASSING]

    async def alist(self, *, tenant: str | None = None) -> Sequence[Token]:
        return await self._client.hop(lambda: self.list(tenant=tenant))

    def get(self, token_id: str, *, tenant: str | None = None) -> Token:
        """A token by its id."""
        whose = self._whose(tenant)
        known = self._client.store.tokens.list(whose) if is_id(token_id) else []
        found = next((token for token in known if token.id == token_id), None)
        if found is None:
            of = "for every tenant" if whose == EVERY_TENANT else f"of tenant {whose}"
            # What was given may be the token itself, by mistake: that must not get into a log.
            shown = "that was given; give the id of one, not its text," if is_token(token_id) else repr(token_id)
            raise TokenNotFound(f"There is no token {shown} {of}; `workbell tokens list` shows those that are.")
        return found

    async def aget(self, token_id: str, *, tenant: str | None = None) -> Token:
        return await self._client.hop(lambda: self.get(token_id, tenant=tenant))

    def _whose(self, tenant: str | None) -> str:
        return self._client.tenant if tenant is None else checked_tenant(tenant)

    # Be handed one

    def check(self, text: str, now: datetime | None = None) -> Token | None:
        """The token that a text is, of whichever tenant; none, if it is not valid, or good for being redeemed only.

        A server, which is asked often, uses `bell.verified`.
        """
        found = self._find(text)
        if found is None or found.kind in REDEEMED:
            return None
        return found if found.is_valid(now or self._client.store.clock.now()) else None

    async def acheck(self, text: str, now: datetime | None = None) -> Token | None:
        return await self._client.hop(self.check, text, now)

    def redeem(self, text: str, kind: TokenKind) -> Token | None:
        """Use up a token of this kind: the first to ask gets it, and nobody after."""
        if kind not in REDEEMED:
            raise InvalidOption(
                f"kind: a token of kind {kind} is not redeemed; those are {', '.join(sorted(REDEEMED))}."
            )
        found = self._find(text)
        if found is None or found.kind is not kind:  # one of another kind is not used up by a mix-up
            return None
        return self._client.store.tokens.redeem(found.hash, self._client.store.clock.now())

    async def aredeem(self, text: str, kind: TokenKind) -> Token | None:
        return await self._client.hop(self.redeem, text, kind)

    def _find(self, text: str) -> Token | None:
        if not is_token(text):
            return None
        return self._client.store.tokens.find(hash_of(text))
