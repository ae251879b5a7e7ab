"""Ids of users: a whole number, or a text such as a UUID; 0 is the system. In storage a number stands for each."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

UserId = int | str

MOST = 2**63


@lru_cache(maxsize=4096)
def user_number(user: UserId) -> int:
    """The number that stands for a user in storage: of a text a negative one, made of its BLAKE2b hash."""
    if isinstance(user, int):
        return user
    digest = blake2b(user.encode(), digest_size=8).digest()
    return -1 - int.from_bytes(digest, "big") % MOST


def user_text(user: UserId | None) -> str | None:
    """The text that is stored beside the number, so that the id can be shown."""
    return user if isinstance(user, str) else None


def shown_user(number: int, text: str | None) -> UserId:
    return number if text is None else text
