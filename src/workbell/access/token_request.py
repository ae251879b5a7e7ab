"""Checks of a new token's settings: its name, scopes, person and expiry."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from workbell.access.secret_text import without_tokens
from workbell.errors import InvalidOption
from workbell.model.access import ALONE, EVERY_TENANT, REDEEMED, ROUNDS, Scope, TokenKind, scopes_of
from workbell.model.clock import aware, span
from workbell.model.job import name as usable_name
from workbell.model.run_settings import read_user
from workbell.model.users import UserId

Expires = float | timedelta | datetime


def checked_name(name: str) -> str:
    return usable_name("name", without_tokens(name), InvalidOption) if name != "" else ""


def checked_tenant(tenant: str) -> str:
    return EVERY_TENANT if tenant == EVERY_TENANT else usable_name("tenant", tenant, InvalidOption)


def checked_scopes(words: Iterable[str], user_id: UserId | None, kind: TokenKind) -> tuple[Scope, ...]:
    """One that is redeemed may carry none; any other without scopes is for the notifications of one person."""
    if isinstance(words, str):
        raise InvalidOption(f'scopes: give a list, such as ["{words[:20]}"].')
    scopes = scopes_of(words)
    alone = [scope for scope in scopes if scope in ALONE]
    if alone and len(scopes) > 1 and not ROUNDS.issuperset(scopes):
        raise InvalidOption(f"scopes: `{alone[0]}` cannot be combined with others; make a token for each.")
    if not scopes and user_id is None and kind not in REDEEMED:
        raise InvalidOption(
            f"scopes: give at least one of {', '.join(Scope)}; or a user_id, for a token that reads no more than "
            "this person's notifications."
        )
    return scopes


def checked_user(user_id: UserId | None) -> UserId | None:
    return None if user_id is None else read_user(user_id)


def end_of(expires: Expires | None, now: datetime) -> datetime | None:
    """When it ends: at a time, or so many seconds from now."""
    if expires is None:
        return None
    if isinstance(expires, datetime):
        end = aware("expires", expires)
    else:
        try:
            end = now + span("expires", expires)
        except OverflowError:
            raise InvalidOption(f"expires: {expires} is beyond the year 9999.") from None
    if end <= now:
        raise InvalidOption(f"expires: {end.isoformat()} is not in the future.")
    return end
