"""The verbs about tokens: `bell.tokens.create`, list, get, revoke; and check and redeem, for servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

import msgspec

from workbell.access.secret_text import NewToken, hash_of, is_token, new_text, without_tokens
from workbell.access.token_request import Expires, checked_name, checked_scopes, checked_tenant, checked_user, end_of
from workbell.access.verified import Verified
from workbell.errors import InvalidOption, TokenNotFound
from workbell.model.access import EVERY_TENANT, MADE_WITH, REDEEMED, Token, TokenKind
from workbell.model.ids import FIRST_ID, is_id, new_id
from workbell.model.job import NAME_LIMIT
from workbell.model.json_text import clean_text
from workbell.model.users import UserId
from workbell.runs.runtime import Runtime, in_thread
from workbell.stores.port import Store

MOST = 1000  # tokens of a page
PASSING = frozenset({TokenKind.LOGIN, TokenKind.TICKET})  # made by the thousand and good for seconds: nothing to list


def shown_tokens(store: Store, tenant: str, after: str | None) -> Iterator[Token]:
    """Tokens of a tenant by age, read page by page; not those that live for seconds only."""
    return (token for token in store.tokens.every(tenant, after=after or FIRST_ID) if token.kind not in PASSING)


def check_page(after: str | None, limit: int) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise InvalidOption(f"limit: {limit!r} is not from 1 to {MOST:,}.")
    if after is not None and not is_id(after):
        raise InvalidOption(f"after: {after!r:.60} is not the id of a token.")


def made_with(token_id: str) -> str:
    """`created_by` of a session: the token that it was made with."""
    return f"{MADE_WITH}{token_id}"


class Tokens:
    """The tokens of a tenant: `bell.tokens`. Those of all tenants are `bell.tokens.list(tenant="*")`."""

    def __init__(self, runtime: Runtime, verified: Verified) -> None:
        self._runtime = runtime
        self._verified = verified

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

        The text is returned now, and never shown again. The tenant is this one unless another is named; `"*"` lets the
        token act for every one of them. Without scopes, but with a `user_id`, it reads this person's notifications.
        """
        store, kind, user_id = self._runtime.store, TokenKind(kind), checked_user(user_id)
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

    acreate = in_thread(create)

    def revoke(self, token_id: str, *, tenant: str | None = None) -> Token:
        """Revoke a token: here at once, in other processes within a second.

        The sessions of browsers that signed in with it end as well.
        """
        found = self.get(token_id, tenant=tenant)
        now = self._runtime.store.clock.now()
        changed = self._runtime.store.tokens.revoke([found.id], now)
        # Only now: a sign-in makes its session first, and then checks whether the token is still valid.
        sessions = self._sessions_of(found)
        if sessions:
            self._runtime.store.tokens.revoke(sessions, now)
        for token in (found.id, *sessions):  # after the write: else it could be read, and cached, once more
            self._verified.forget(token)
        return (
            msgspec.structs.replace(found, revoked_at=now) if found.id in changed else self.get(found.id, tenant=tenant)
        )

    def _sessions_of(self, token: Token) -> Sequence[str]:
        mark = made_with(token.id)
        later = self._runtime.store.tokens.every(token.tenant)
        return [one.id for one in later if one.kind is TokenKind.SESSION and one.created_by == mark]

    arevoke = in_thread(revoke)

    # Read

    def list(self, *, tenant: str | None = None, after: str | None = None, limit: int = MOST) -> Sequence[Token]:
        """Tokens by age, also those that are revoked or over; not those that live for seconds only.

        Up to `limit` of them; `after` is the id of the last one of the page before.
        """
        check_page(after, limit)
        return [*islice(shown_tokens(self._runtime.store, self._whose(tenant), after), limit)]

    alist = in_thread(list)  # noqa: A003

    def get(self, token_id: str, *, tenant: str | None = None) -> Token:
        """A token by its id."""
        whose = self._whose(tenant)
        found = self._runtime.store.tokens.with_ids([token_id]).get(token_id) if is_id(token_id) else None
        if found is None or found.tenant != whose:
            of = "for every tenant" if whose == EVERY_TENANT else f"of tenant {whose}"
            # What was given may be the token itself, by mistake: that must not get into a log.
            shown = "that was given; give the id of one, not its text," if is_token(token_id) else repr(token_id)
            raise TokenNotFound(f"There is no token {shown} {of}; `workbell tokens list` shows those that are.")
        return found

    aget = in_thread(get)

    def _whose(self, tenant: str | None) -> str:
        return self._runtime.tenant if tenant is None else checked_tenant(tenant)

    # Check

    def check(self, text: str, now: datetime | None = None) -> Token | None:
        """The token that a text is, of whichever tenant; none, if it is not valid, or good for being redeemed only.

        A server, which is asked often, uses `bell.verified`.
        """
        found = self._find(text)
        if found is None or found.kind in REDEEMED:
            return None
        return found if found.is_valid(now or self._runtime.store.clock.now()) else None

    acheck = in_thread(check)

    def redeem(self, text: str, kind: TokenKind) -> Token | None:
        """Use up a token of this kind: the first to ask gets it, and nobody after."""
        if kind not in REDEEMED:
            raise InvalidOption(
                f"kind: a token of kind {kind} is not redeemed; those are {', '.join(sorted(REDEEMED))}."
            )
        found = self._find(text)
        if found is None or found.kind is not kind:  # one of another kind is not used up by a mix-up
            return None
        return self._runtime.store.tokens.redeem(found.hash, self._runtime.store.clock.now())

    aredeem = in_thread(redeem)

    def _find(self, text: str) -> Token | None:
        if not is_token(text):
            return None
        return self._runtime.store.tokens.find(hash_of(text))
