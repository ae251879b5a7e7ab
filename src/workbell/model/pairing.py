"""Pairing of an agent: the name and labels that it gives, and the shown name of its token."""

from __future__ import annotations

import msgspec

from workbell.model.access import Token, TokenKind


class PairingTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """The labels of the agent, and its name unless it may choose one; stored, as JSON, in the name of its token."""

    agent: str | None = None
    labels: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """`web-1 (gpu, ssd)`."""
        labels = f" ({', '.join(self.labels)})" if self.labels else ""
        return f"{self.agent or 'a new agent'}{labels}"


def terms_of(token: Token) -> PairingTerms:
    return msgspec.json.decode(token.name, type=PairingTerms)


def shown_name(token: Token) -> str:
    """Name of a token; a pairing token is named after its purpose."""
    if token.kind is not TokenKind.PAIRING:
        return token.name
    try:
        return f"pairing of {terms_of(token)}"
    except msgspec.DecodeError:  # of another version of Workbell
        return "pairing"
