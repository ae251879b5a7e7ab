"""Readers of answers: plain values, converted values, lists, and paged lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from workbell.remote.call import Plan, get

T = TypeVar("T")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)

MOST = 1000  # items of a page


class Words(Protocol[V_co]):
    """JSON shape of an answer, which converts itself to a value."""

    def value(self) -> V_co: ...


class ReadPage(msgspec.Struct, Generic[T], frozen=True):
    """A page of a list, and the cursor of the next."""

    items: list[T]
    next: str | None = None


def plain(kind: type[T]) -> Callable[[bytes], T]:
    """Reads an answer that is such a value already."""
    return msgspec.json.Decoder(kind).decode


def plain_page(kind: type[T]) -> Callable[[bytes], ReadPage[T]]:
    """Reads a page of such values."""
    decode: Callable[[bytes], ReadPage[T]] = msgspec.json.Decoder(ReadPage[kind]).decode  # type: ignore[valid-type]
    return decode


def plain_items(kind: type[T]) -> Callable[[bytes], list[T]]:
    """Reads the items of a page of such values."""
    decode = plain_page(kind)
    return lambda content: decode(content).items


def one(kind: type[Words[V]]) -> Callable[[bytes], V]:
    """Reads an answer of such a shape, as its value."""
    decode = plain(kind)
    return lambda content: decode(content).value()


def page(kind: type[Words[V]]) -> Callable[[bytes], ReadPage[V]]:
    """Reads a page of such shapes."""
    decode = plain_page(kind)

    def read(content: bytes) -> ReadPage[V]:
        answer = decode(content)
        return ReadPage([words.value() for words in answer.items], answer.next)

    return read


def many(kind: type[Words[V]]) -> Callable[[bytes], list[V]]:
    """Reads the items of a page of such shapes."""
    decode = page(kind)
    return lambda content: decode(content).items


def up_to(
    limit: int,
    where: str,
    read: Callable[[bytes], ReadPage[T]],
    *,
    cursor: str = "before",
    start: Any = None,
    **query: Any,
) -> Plan[list[T]]:
    """So many rows of a list from a cursor on. Pages of long rows are shorter than asked for, and have a `next`."""
    found: list[T] = []
    position = start
    while True:
        asked: dict[str, Any] = {**query, "limit": limit - len(found), cursor: position}
        answer: ReadPage[T] = yield get(where, read, **asked)
        found += answer.items
        if answer.next is None or len(found) >= limit:
            return found
        position = answer.next


def every(where: str, read: Callable[[bytes], ReadPage[T]], *, cursor: str = "after", **query: Any) -> Plan[list[T]]:
    """All pages of a list, one after the other."""
    found: list[T] = []
    position: str | None = None
    while True:
        asked: dict[str, Any] = {**query, "limit": MOST, cursor: position}
        answer: ReadPage[T] = yield get(where, read, **asked)
        found += answer.items
        if answer.next is None or answer.next == position:
            return found
        position = answer.next
