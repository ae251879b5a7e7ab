"""Suggestions for misspelt option names."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def list_options(word: str, known: Collection[str], *, called: str = "options") -> str:
    """The second half of a message about an unknown option: the nearest known one, if one is near, and all of them."""
    names = sorted(known)
    # Also by its last part: `max_retries` means `retry`.
    near = get_close_matches(word, names, 1) or get_close_matches(word.rpartition("_")[2], names, 1)
    if near:
        return f"did you mean {near[0]}=? The {called} are {', '.join(names)}."
    return f"the {called} are {', '.join(names)}."
