"""Pages of lists, bounded in bytes as well as in rows: what users wrote may be long, and a page is made in memory.

A page that was cut has `next`, as one that is full. Rows are read in steps, each so small that it fits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from workbell.http.framework.answers import encode
from workbell.model.json_text import ERROR_LIMIT, LIMIT
from workbell.wire.operation import ListPage

Row = TypeVar("Row")
Position = TypeVar("Position")

MOST_BYTES = 4 * 1024 * 1024  # of a page
WITH_DATA = LIMIT  # bytes of the largest rows of a list: here they carry an input, a result or data
WITH_TEXT = ERROR_LIMIT  # and here a text of several lines

by_id: Callable[[Any], str] = attrgetter("id")
by_name: Callable[[Any], str] = attrgetter("name")
by_number: Callable[[Any], int] = attrgetter("number")  # of an attempt


def as_it_is(row: object) -> object:
    return row


class PageSource(NamedTuple, Generic[Row, Position]):
    """Where the rows of a list come from, and how they are shown."""

    read: Callable[[Position | None, int], Sequence[Row]]  # so many rows from this position on
    position: Callable[[Row], Position]  # behind a row
    show: Callable[[Row], object] = as_it_is
    largest: int = WITH_DATA


class BoundedPage(NamedTuple, Generic[Row]):
    """Rows, each with its text in JSON; and whether more may follow."""

    found: list[tuple[Row, bytes]]
    more: bool

    @property
    def last(self) -> Row | None:
        """Behind which row the next page begins, if there may be one."""
        return self.found[-1][0] if self.found and self.more else None

    def answer(self, cursor: Callable[[Row], str]) -> ListPage[Any]:
        """The page as it is sent: its rows are encoded already."""
        items = [msgspec.Raw(text) for _, text in self.found]
        return ListPage(items=items, next=None if self.last is None else cursor(self.last))


def read_page(source: PageSource[Row, Position], start: Position | None, limit: int) -> BoundedPage[Row]:
    """Rows from a position on: up to `limit`, and up to MOST_BYTES but for the first, however large it is."""
    found: list[tuple[Row, bytes]] = []
    size, position, step = 0, start, min(limit, max(MOST_BYTES // source.largest, 1))
    while True:
        rows = source.read(position, step)
        for row in rows:
            text = encode(source.show(row))
            if found and size + len(text) > MOST_BYTES:
                return BoundedPage(found, more=True)
            found.append((row, text))
            size += len(text)
        if len(rows) < step or len(found) >= limit:
            return BoundedPage(found, more=len(rows) >= step)
        position = source.position(found[-1][0])
        room = (MOST_BYTES - size) // (size // len(found) + 1)  # as many as fit, if they are like those before
        step = min(limit - len(found), max(room, 1))


def page_of(
    rows: Iterable[Row],
    key: Callable[[Row], Any],
    after: Any,
    limit: int,
    show: Callable[[Row], object] = as_it_is,
) -> ListPage[Any]:
    """A page, bounded likewise, of a list that was read as a whole; in the order of its keys, which are the cursors."""
    ordered = sorted(rows, key=key)
    rest = ordered if after is None else ordered[bisect_right(ordered, after, key=key) :]
    found: list[tuple[Row, bytes]] = []
    size = 0
    for row in rest[:limit]:
        text = encode(show(row))
        size += len(text)
        if found and size > MOST_BYTES:
            break
        found.append((row, text))
    return BoundedPage(found, more=len(found) < len(rest)).answer(lambda row: str(key(row)))
