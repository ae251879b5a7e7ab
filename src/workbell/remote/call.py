"""Calls: a request and the reader of its answer; and plans: several calls in sequence.

Verbs only describe what they ask for. The transport executes it, for sync and for async code alike.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from workbell.errors import NotFound

T = TypeVar("T")

Step: TypeAlias = "RemoteCall[Any] | float"
"""Next step of a plan: a call to be answered, or seconds to wait."""
Plan: TypeAlias = Generator[Step, Any, T]
"""Yields steps, is sent what they gave, and returns what the verb answers."""


def path(*parts: str) -> str:
    """URL path of names, which may have any characters. The empty name, `.` and `..` are refused: they would lead
    elsewhere."""
    for part in parts:
        if part in ("", ".", ".."):
            raise NotFound(f"{part!r}: nothing of that name can be reached over HTTP.")
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def as_plain(value: Any) -> Any:
    """A value of a query as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else value


class RemoteCall(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One request. What is None in the query is left out."""

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, Any] = {}
    body: Any = None
    patience: float = 0.0  # seconds that the service may wait before it answers, beyond the usual


class Reply(NamedTuple):
    """Answer of the service: status, two of its headers, and content."""

    status: int
    content_type: str
    retry_after: str | None
    content: bytes


def get(where: str, read: Callable[[bytes], T], *, patience: float = 0.0, **query: Any) -> RemoteCall[T]:
    return RemoteCall(method="GET", path=where, read=read, query=query, patience=patience)


def post(
    where: str, read: Callable[[bytes], T], body: Any = None, *, patience: float = 0.0, **query: Any
) -> RemoteCall[T]:
    return RemoteCall(method="POST", path=where, read=read, body=body, query=query, patience=patience)


def delete(where: str) -> RemoteCall[None]:
    return RemoteCall(method="DELETE", path=where, read=ignore)


def ignore(_content: bytes) -> None:
    """The answer says nothing."""
