"""Conditions on fields of the input, for SQLite."""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.model.input_fields import FieldFilter


def condition_on(field: FieldFilter, letter: str) -> tuple[str, dict[str, Any]]:
    """A condition on `r.input`. The type is compared too: for SQLite, true is 1."""
    path = f"path_{letter}"
    values = {path: "$" + "".join(f'."{name}"' for name in field.names)}
    kind = f"json_type(r.input, :{path})"
    if field.value is None:
        return f"{kind} = 'null'", values
    if isinstance(field.value, bool):
        return f"{kind} = '{'true' if field.value else 'false'}'", values
    value = f"value_{letter}"
    values[value] = msgspec.json.encode(field.value).decode()
    kinds = "= 'text'" if isinstance(field.value, str) else "IN ('integer', 'real')"
    # Both are read by SQLite from JSON: its own way to read a fraction may differ from ours in the last bit.
    return f"({kind} {kinds} AND json_extract(r.input, :{path}) = json_extract(:{value}, '$'))", values
