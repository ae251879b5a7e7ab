"""Suggestions for misspelt option names, and for the words of other job systems."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

# What other job systems say, and our words for it: the first that is known where it was said.
FOREIGN = {"payload": ("input", "data")}


def list_options(word: str, known: Collection[str], *, called: str = "options") -> str:
    """The second half of a message about an unknown option: the nearest known one, if one is near, and all of them."""
    names = sorted(known)
    near = find_near(word, names)
    if near is not None:
        return f"did you mean {near}=? The {called} are {', '.join(names)}."
    return f"the {called} are {', '.join(names)}."


def find_near(word: str, known: Collection[str]) -> str | None:
    """The known name that was probably meant."""
    if (translated := translate(word, known)) is not None:
        return translated
    # Also by its last part: `max_retries` means `retry`.
    names = sorted(known)
    near = get_close_matches(word, names, 1) or get_close_matches(word.rpartition("_")[2], names, 1)
    return near[0] if near else None


def translate(word: str, known: Collection[str]) -> str | None:
    """The known name for a word of other job systems."""
    return next((ours for ours in FOREIGN.get(word, ()) if ours in known), None)
