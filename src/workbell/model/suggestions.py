"""Suggestions for misspelt option names."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def list_options(word: str, known: Collection[str], *, called: str = "options") -> str:
    """The second half of a message about an unknown option: the nearest known one, if one is near, and all of them."""
    names = sorted(known)
    near = find_near(word, names)
    if near is not None:
        return f"did you mean {near}=? The {called} are {', '.join(names)}."
    return f"the {called} are {', '.join(names)}."


def find_near(word: str, known: Collection[str]) -> str | None:
    """The known name that was probably meant."""
    # Also by its last part: `max_retries` means `retry`.
    names = sorted(known)
    near = get_close_matches(word, names, 1) or get_close_matches(word.rpartition("_")[2], names, 1)
    return near[0] if near else None
