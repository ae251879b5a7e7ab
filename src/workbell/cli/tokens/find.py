"""Finds a token by its id, or by the beginning or end of it."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from operator import attrgetter

from workbell.access.tokens import MOST
from workbell.cli.bell import AnyClient
from workbell.cli.runs.find import SHORTEST
from workbell.errors import InvalidOption
from workbell.model.access import EVERY_TENANT, Token


def usable_here(bell: AnyClient, after: str | None = None) -> Iterator[Token]:
    """The tokens that are or were good for this tenant, by age: its own, and those of every tenant."""
    return merge(*(tokens_of(bell, tenant, after) for tenant in (None, EVERY_TENANT)), key=attrgetter("id"))


def tokens_of(bell: AnyClient, tenant: str | None, after: str | None = None) -> Iterator[Token]:
    while page := bell.tokens.list(tenant=tenant, after=after, limit=MOST):
        yield from page
        if len(page) < MOST:
            return
        after = page[-1].id


def find_token(bell: AnyClient, text: str) -> Token:
    part = text.strip().lower()
    known = usable_here(bell) if len(part) >= SHORTEST else ()
    found = [one for one in known if one.id.endswith(part) or one.id.startswith(part)]
    if len(found) > 1:
        listed = ", ".join(one.id for one in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0] if found else bell.tokens.get(text)
