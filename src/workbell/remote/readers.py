"""Reading answers: values as they are, values told in other words, lists, and lists that come in pages."""

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
    """Something that the API tells, and the value that it tells of."""

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
    """Reads a page of such values, if that is all that is wanted."""
    decode = plain_page(kind)
    return lambda content: decode(content).items


def one(kind: type[Words[V]]) -> Callable[[bytes], V]:
    """Reads an answer in such words, as the value that they tell of."""
    decode = plain(kind)
    return lambda content: decode(content).value()


def page(kind: type[Words[V]]) -> Callable[[bytes], ReadPage[V]]:
    """Reads a page in such words."""
    decode = plain_page(kind)

    def read(content: bytes) -> ReadPage[V]:
        told = decode(content)
        return ReadPage([words.value() for words in told.items], told.next)

    return read


def many(kind: type[Words[V]]) -> Callable[[bytes], list[V]]:
    """Reads a page in such words, if that is all that is wanted."""
    decode = page(kind)
    return lambda content: decode(content).items


def every(where: str, read: Callable[[bytes], ReadPage[T]], *, cursor: str = "after", **query: Any) -> Plan[list[T]]:
    """All pages of a list, one after the other."""
    found: list[T] = []
    place: str | None = None
    while True:
        asked: dict[str, Any] = {**query, "limit": MOST, cursor: place}
        told: ReadPage[T] = yield get(where, read, **asked)
        found += told.items
        if told.next is None or told.next == place:
            return found
        place = told.next
