"""Tokens, in the store: who may call, and what for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from workbell.model.access import Scope, Token, TokenKind
from workbell.model.ids import FIRST_ID
from workbell.model.users import user_number, user_text
from workbell.stores.database import Batch, Database, Row, Statement, read_rows, write_rows
from workbell.stores.pending_entry import write_action
from workbell.stores.reading import Column, RowReader, written_back

TOKEN = (*(name for name in Token.__struct_fields__ if name != "unreadable"), "user_text")
SCOPES = {scope.value: scope for scope in Scope}
PAGE = 1000
TICKET_RETENTION = timedelta(minutes=1)  # after a ticket's end: every connect makes one
SESSION_RETENTION = timedelta(days=1)  # after the end of a session, and of other tokens that are redeemed
TOKEN_RETENTION = timedelta(days=30)  # after the end of a token that a person made, and may search for in a list

_words = msgspec.json.Decoder(list[str])


def _scopes(text: str) -> tuple[Scope, ...]:
    """A scope of a later version, which may run beside this one, grants nothing here."""
    return tuple(scope for scope in map(SCOPES.get, _words.decode(text)) if scope is not None)


_rows = RowReader(
    TOKEN,
    "nobody gets in with it: revoke it, and make another.",
    kind=Column(TokenKind, TokenKind.API),
    scopes=Column(_scopes, ()),
)


Listed = list[Token]  # inside the class `list` is the verb


class StoredTokens:
    """Tokens of callers. Only the SHA-256 of a token's text is stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, token: Token) -> None:
        write_action(self._database, [Statement("add_token", _values(token))], makes=token.id)

    def find(self, token_hash: str) -> Token | None:
        """A token by the SHA-256 of its text; also if it is revoked or has expired."""
        found = read_rows(self._database, "find_token", hash=token_hash)
        return _token(found[0]) if found else None

    def with_ids(self, ids: Sequence[str]) -> dict[str, Token]:
        """Tokens by their ids; also those that are revoked or have expired."""
        found = read_rows(self._database, "tokens_with_ids", ids=sorted(ids)) if ids else []
        return {token.id: token for token in map(_token, found)}

    def list(self, tenant: str, *, after: str = FIRST_ID, limit: int = PAGE) -> Listed:
        """A page of the tokens of a tenant, by id: oldest first."""
        found = read_rows(self._database, "list_tokens", tenant=tenant, after=after, limit=limit)
        return [_token(row) for row in found]

    def every(self, tenant: str, *, after: str = FIRST_ID) -> Iterator[Token]:
        """The tokens of a tenant by id, read page by page."""
        while page := self.list(tenant, after=after):
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    def valid_of_agent(self, agent: str, limit: int = PAGE) -> Sequence[str]:
        """Ids of some tokens of an agent that are not revoked."""
        return [row[0] for row in read_rows(self._database, "tokens_of_agent", agent=agent, limit=limit)]

    def redeem(self, token_hash: str, now: datetime) -> Token | None:
        """Redeem a one-time token: the first caller gets it as valid, then it is revoked."""
        found = write_rows(self._database, "redeem_token", hash=token_hash, now=now)
        # As it was for the one who redeemed it: valid.
        return msgspec.structs.replace(_token(found[0]), revoked_at=None) if found else None

    def revoke(self, ids: Sequence[str], now: datetime) -> set[str]:
        """Revoke tokens; those that were not revoked before."""
        if not ids:
            return set()
        (revoked,) = write_action(self._database, [Statement("revoke_tokens", {"ids": list(ids), "now": now})])
        return {row[0] for row in revoked}

    def see(self, ids: Sequence[str], now: datetime) -> None:
        """Note that these were used."""
        if ids:
            write_rows(self._database, "see_tokens", ids=list(ids), now=now)

    def prune(self, now: datetime, limit: int) -> int:
        """Remove tokens that ended a while ago; how many."""
        spans = {
            "shortly_before": now - TICKET_RETENTION,
            "before": now - SESSION_RETENTION,
            "long_before": now - TOKEN_RETENTION,
        }
        names = ("delete_expired_tokens", "delete_revoked_tokens")
        return sum(len(gone) for gone in self._database.write([Statement(n, spans | {"limit": limit}) for n in names]))

    def export(self) -> Iterator[Sequence[Token]]:
        """All tokens, in pages, by id."""
        after = FIRST_ID
        while page := [_token(row) for row in read_rows(self._database, "export_tokens", after=after, limit=PAGE)]:
            yield page
            after = page[-1].id

    def loading(self, tokens: Sequence[Token]) -> Batch:
        """The statements that take over tokens of another store."""
        return [Statement("load_token", _values(token)) for token in tokens]


def _values(token: Token) -> dict[str, Any]:
    user = token.user_id
    values = msgspec.structs.asdict(token) | {
        "kind": token.kind.value,
        "scopes": msgspec.json.encode(token.scopes).decode(),
        "user_id": None if user is None else user_number(user),
        "user_text": user_text(user),
    }
    return written_back(values, token.unreadable)


def _token(row: Row) -> Token:
    values = _rows.read(row)
    text = values.pop("user_text")
    values["user_id"] = values["user_id"] if text is None else text
    return Token(**values)
