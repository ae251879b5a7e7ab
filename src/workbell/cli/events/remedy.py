"""Remedy for an event type that nothing matches: the nearest existing pattern."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from workbell.cli.output import one_line
from workbell.model.patterns import matches
from workbell.model.system_events import SYSTEM_TYPES


def remedy(event_type: str, patterns: Sequence[tuple[str, str]]) -> str:
    """A sentence or two; `patterns` are the existing ones, each with the name of its subscriber."""
    first = event_type.split(".")[0]
    if not patterns:
        return "There are no triggers and endpoints yet; `workbell triggers add` makes one."
    system = event_type in SYSTEM_TYPES
    for pattern, whose in patterns:
        if system and matches(pattern, event_type):
            return (
                "Workbell emits it itself, and only patterns match it whose first segment is written "
                f"out: not by {_of(pattern, whose)}, but by {first}.* or {event_type}."
            )
    for pattern, whose in patterns:
        if matches(pattern.lower(), event_type.lower(), system=system):
            return f"Small and capital letters differ: {_of(pattern, whose)} matches it if the letters are the same."
    for pattern, whose in patterns:
        longer = f"{pattern}*" if pattern.endswith(".*") else f"{pattern}.**"
        if not pattern.endswith("**") and matches(longer, event_type, system=system):
            return f"{_of(pattern, whose)} ends before it; {longer} would match it."
    near = get_close_matches(event_type, [pattern for pattern, _ in patterns], n=1)
    if near:
        return f"The nearest is {_of(near[0], dict(patterns)[near[0]])}."
    add = f"`workbell triggers add NAME --pattern {first}.* --job JOB`"
    there = (
        "There is 1 pattern, and it is not"
        if len(patterns) == 1
        else f"There are {len(patterns):,} patterns, and none is"
    )
    return f"{there} like it; {add} adds one."


def _of(pattern: str, whose: str) -> str:
    return f"{pattern} (of {one_line(whose, 60)})"
