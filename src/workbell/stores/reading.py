"""Rows as values, one column at a time: one that cannot be read is marked, and takes no other row with it.

This is where garbage in a column ends, for all parts but runs: those are made in `rows.py` without being decoded, and
`Run.unreadable` says what is wrong with one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from workbell.model.rate import Rate
from workbell.model.unreadable import FAILURES, UnreadableColumns, about
from workbell.stores.times import fields_in_utc

_object = msgspec.json.Decoder(dict[str, Any])


class Column(NamedTuple):
    """How a column is read, and the value that stands for one that cannot be read."""

    read: Callable[[Any], Any]
    instead: Any = None


class RowReader:
    """Reads the rows of one kind of thing."""

    def __init__(self, names: Sequence[str], remedy: str, **columns: Column) -> None:
        self._names = names
        self._remedy = remedy
        self._columns = columns

    def read(self, row: Sequence[Any]) -> dict[str, Any]:
        """The fields of a row, with its times in UTC; `unreadable` are the columns that cannot be read, or none."""
        values = fields_in_utc(self._names, row)
        failed: dict[str, str] = {}
        stored = {}
        for name, column in self._columns.items():
            try:
                values[name] = column.read(values[name])
            except FAILURES as error:
                failed[name] = str(error)
                stored[name], values[name] = values[name], column.instead
        values["unreadable"] = UnreadableColumns(about(failed, self._remedy), stored) if failed else None
        return values


def optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The reader of a column that may be NULL."""
    return lambda stored: None if stored is None else read(stored)


def object_text(text: str | None) -> str | None:
    """A text that is kept as it is, and must be a JSON object."""
    if text is not None:
        _object.decode(text)
    return text


def rate_text(text: str | None) -> str | None:
    """A text that is kept as it is, and must be a rate: one that is not would end the claims of everybody."""
    if text is not None:
        Rate.parse(text)
    return text


def written_back(values: dict[str, Any], unreadable: UnreadableColumns | None) -> dict[str, Any]:
    """The columns of a thing that is written, with those that could not be read as they were."""
    values.pop("unreadable", None)
    return values if unreadable is None else {**values, **unreadable.stored}
