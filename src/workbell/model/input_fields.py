"""Filters on fields of the input: a dotted path of names, and the JSON scalar that must be there.

The rules here decide; a store may preselect rows by rules of its own, if they leave out no match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from workbell.errors import InvalidOption

Scalar = str | int | float | bool | None

MOST = 10  # fields in one filter
LONGEST = 1000  # letters of a path, or of a text
EXACT = 2**53  # from here on a float stands for several whole numbers
# Names with no need to be escaped in JSON or in a path, and without a dot.
_PATH = re.compile(r"""[^\\".\x00-\x1f\x7f]+(\.[^\\".\x00-\x1f\x7f]+)*\Z""")


class FieldFilter(NamedTuple):
    """The value that must be at a path, such as `customer.id`. Names of objects only: no indexes of arrays."""

    path: str
    value: Scalar

    @property
    def names(self) -> list[str]:
        return self.path.split(".")


def read_fields(given: Mapping[str, Any]) -> tuple[FieldFilter, ...]:
    """Fields as a caller gives them, checked."""
    if not isinstance(given, Mapping):
        raise InvalidOption(
            f"input: expected paths with their values, such as {{'customer.id': 42}}, got {given!r:.60}."
        )
    if len(given) > MOST:
        raise InvalidOption(f"input: {len(given)} fields are more than {MOST}; ask for fewer.")
    return tuple(FieldFilter(_path(path), _value(path, value)) for path, value in sorted(given.items(), key=str))


def value_from(text: str) -> Any:
    """A value as people write it: JSON, else a text, so that `to=a@b.c` needs no quotes."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):  # the last of one that is nested too deeply
        return text


def _path(path: Any) -> str:
    if not isinstance(path, str) or len(path) > LONGEST or not _PATH.match(path) or not path.isprintable():
        raise InvalidOption(f"input: {path!r:.80} is no path; write names with dots between them, such as customer.id.")
    return path


def _value(path: str, value: Any) -> Scalar:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > LONGEST or "\x00" in value or not _is_text(value):
            raise InvalidOption(f"input: {path}: use a text of up to {LONGEST:,} letters, without NUL.")
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InvalidOption(f"input: {path}: {value!r:.60} is not a whole number of 64 bits.")
        return value
    if isinstance(value, float):
        if not -EXACT < value < EXACT:  # also refuses NaN and infinity
            raise InvalidOption(f"input: {path}: {value!r} is too large to be compared exactly; give a whole number.")
        return value
    raise InvalidOption(
        f"input: {path}: runs are found by a text, a number, true, false or null, not by {type(value).__name__}."
    )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, which no input can have
        return False
    return True


def has_fields(input_text: str | None, fields: Sequence[FieldFilter]) -> bool:
    """Whether an input has all of these fields."""
    if not fields:
        return True
    if input_text is None:
        return False
    try:
        value = msgspec.json.decode(input_text)
    except msgspec.DecodeError:
        return False
    return all(_has(value, field) for field in fields)


def _has(value: Any, field: FieldFilter) -> bool:
    here = value
    for name in field.names:
        if not isinstance(here, dict) or name not in here:
            return False
        here = here[name]
    return _equal(here, field.value)


def _equal(there: Any, wanted: Scalar) -> bool:
    """Equality of scalars: 1 is 1.0 and not true. A whole number beyond the precision of floats equals only itself."""
    if wanted is None or isinstance(wanted, bool):
        return there is wanted
    if isinstance(wanted, str):
        return isinstance(there, str) and there == wanted
    if isinstance(there, bool) or not isinstance(there, int if abs(wanted) >= EXACT else int | float):
        return False
    return bool(there == wanted)
