"""Array literals of PostgreSQL: `{a,b,NULL}`.

Built here because the driver does it value by value in Python, which took more time than the rest of a finish.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any


def array_text(values: Sequence[Any]) -> str:
    """One array literal; the statement casts it to its type."""
    if len(values) > 1 and values.count(values[0]) == len(values):  # most columns of a batch have one value
        return "{" + ",".join([_element(values[0])] * len(values)) + "}"
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        # Quoted always: then commas, braces, blanks and the word NULL need no thought.
        if "\\" in value or '"' in value:
            value = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{value}"'
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)
