"""Conditions on fields of the input, for PostgreSQL."""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.model.input_fields import FieldFilter

# JSON text may hold NUL, jsonb may not: the cast would fail, and with it the whole query.
NUL, INSTEAD = r"\u0000", r"\ufffd"


def condition_on(field: FieldFilter, letter: str) -> tuple[str, dict[str, Any]]:
    """A condition on `r.input`: that it contains the object around the value.

    Containment takes a path through objects only, compares numbers by value, and knows null from nothing.
    """
    around: Any = field.value
    for name in reversed(field.names):
        around = {name: around}
    text = msgspec.json.encode(around).decode().replace(NUL, INSTEAD)
    condition = f"CAST(replace(r.input, :nul, :instead) AS jsonb) @> CAST(:field_{letter} AS jsonb)"
    return condition, {f"field_{letter}": text, "nul": NUL, "instead": INSTEAD}
