"""Calls: a request and the reader of its answer; and plans: several calls in sequence.

Verbs only describe what they ask for. The transport executes it, for sync and for async code alike.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from workbell.errors import InvalidOption, NotFound

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode

Step: TypeAlias = "RemoteCall[Any] | float"
"""Next step of a plan: a call to be answered, or seconds to wait."""
Plan: TypeAlias = Generator[Step, Any, T]
"""Yields steps, is sent what they gave, and returns what the verb answers."""


def path(*parts: str) -> str:
    """URL path of names, which may have any characters that UTF-8 can write. The empty name, `.` and `..` are refused:
    they would lead elsewhere."""
    for part in parts:
        if not isinstance(part, str):
            raise InvalidOption(f"A name or an id must be a text, got {type(part).__name__}.")
        if part in ("", ".", ".."):
            raise NotFound(f"{part!r}: nothing of that name can be reached over HTTP.")
        _check_text(f"the name or id {part[:40]!r}", part)
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def as_plain(word: str, value: Any) -> Any:
    """A value of a query as text; raises InvalidOption for text that cannot be sent."""
    for text in (word, *(value if isinstance(value, list | tuple) else [value])):
        if isinstance(text, str):
            _check_text(ascii(word)[1:-1], text)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else value


def _check_text(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidOption(f"{what}: half of a surrogate pair cannot be sent; leave it out.") from None


class BinaryContent(NamedTuple):
    """A body that is not JSON."""

    content: bytes
    media_type: str


class RemoteCall(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One request. What is None in the query is left out."""

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, Any] = {}
    body: Any = None
    patience: float = 0.0  # seconds that the service may wait before it answers, beyond the usual
    keyed: bool = True  # a POST carries an idempotency key, unless its body has ids that do the same


class Sending(NamedTuple):
    """A request as it goes out, the same at every try."""

    method: str
    url: str
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    content: bytes | None
    patience: float


def sending(call: RemoteCall[Any], base: str, *, tenant: str | None = None, key: str | None = None) -> Sending:
    """The request of a call to a service at `base`, for a tenant and under an idempotency key where there are such."""
    query = {"tenant": tenant, **call.query}
    headers = {}
    content = None
    if key is not None:
        headers["idempotency-key"] = key
    if isinstance(call.body, BinaryContent):
        content, headers["content-type"] = call.body
    elif call.body is not None:
        content = _json(call)
        headers["content-type"] = "application/json"
    return Sending(
        call.method,
        base + call.path,
        {word: as_plain(word, value) for word, value in query.items() if value is not None},
        headers,
        content,
        call.patience,
    )


def _json(call: RemoteCall[Any]) -> bytes:
    try:
        return _encode(call.body)
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        what = f"{call.method} {call.path}"
        raise InvalidOption(f"{what}: what is to be sent cannot be written as JSON: {error}.") from None


class Reply(NamedTuple):
    """Answer of the service: status, two of its headers, and content."""

    status: int
    content_type: str
    retry_after: str | None
    content: bytes


def ignore(_content: bytes) -> None:
    """The answer says nothing."""
