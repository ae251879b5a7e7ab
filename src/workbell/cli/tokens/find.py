"""Finds a token by its id, or by the beginning or end of it."""

from __future__ import annotations

from workbell.cli.bell import AnyClient
from workbell.cli.runs.find import SHORTEST
from workbell.errors import InvalidOption
from workbell.model.access import EVERY_TENANT, Token


def usable_here(bell: AnyClient) -> list[Token]:
    """All tokens that are or were good for this tenant: its own, and those of every tenant."""
    return [*bell.tokens.list(), *bell.tokens.list(tenant=EVERY_TENANT)]


def find_token(bell: AnyClient, text: str) -> Token:
    part = text.strip().lower()
    known = usable_here(bell) if len(part) >= SHORTEST else []
    found = [one for one in known if one.id.endswith(part) or one.id.startswith(part)]
    if len(found) > 1:
        listed = ", ".join(one.id for one in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0] if found else bell.tokens.get(text)
