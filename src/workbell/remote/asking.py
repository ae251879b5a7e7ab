"""Calls of operations of the wire's table: arguments become path, query and body; answers become values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar, get_origin

import msgspec

from workbell.remote.call import Plan, RemoteCall, ignore, path
from workbell.remote.options import as_json, body
from workbell.wire.operation import Items, ListPage, Operation

T = TypeVar("T")

MOST = 1000  # items of a page


def call_of(
    operation: Operation[T],
    *names: str,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
    patience: float = 0.0,
) -> RemoteCall[T]:
    """A call of an operation; `names` are those in its path, in order. Its answer is the struct of the table."""
    return RemoteCall(
        method=operation.method,
        path=_path(operation.path, names),
        read=_reader(operation),
        query=query or {},
        body=body,
        patience=patience,
    )


def ask(
    operation: Operation[Any],
    given: Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    *,
    query: Mapping[str, Any] | None = None,
) -> Plan[Any]:
    """Have the service carry out an operation, and return its answer as a value.

    `given` are the arguments of a verb by the names of the API: None is one that was left out. `settings` are options
    that the caller named, and None among them is sent. A `ListPage` is read page by page: up to its `limit`, or all of
    it.
    """
    fields = _query_names(operation)
    names = [given[name] for name in operation.parameters]
    rest = {name: value for name, value in given.items() if name not in operation.parameters and value is not None}
    asked = {sent: as_json(name, rest.pop(name)) for name, sent in fields.items() if name in rest} | dict(query or {})
    content = None
    if operation.body is not None:
        content = body(operation.name, {**rest, **(settings or {})})
    if is_paged(operation):
        return (yield from _pages(partial(call_of, operation, *names, body=content), asked, "before" in fields))
    answer = yield call_of(operation, *names, query=asked, body=content)
    return value_of(answer)


@cache
def is_paged(operation: Operation[Any]) -> bool:
    """Whether the answer is a page with a cursor. A whole list may have a `limit` as well, and has no next page."""
    answer = get_origin(operation.answer) or operation.answer
    return isinstance(answer, type) and issubclass(answer, ListPage)


def _pages(call: Callable[..., RemoteCall[Any]], query: dict[str, Any], newest_first: bool) -> Plan[list[Any]]:
    """Rows of a list from a cursor on. Pages of long rows are shorter than asked for, and have a `next`."""
    cursor, wanted = "before" if newest_first else "after", query.get("limit")
    found: list[Any] = []
    while True:
        limit = MOST if wanted is None else wanted - len(found)
        page: ListPage[Any] = yield call(query=query | {"limit": limit})
        found += value_of(page)
        if page.next is None or page.next == query.get(cursor) or (wanted is not None and len(found) >= wanted):
            return found
        query = query | {cursor: page.next}


def value_of(answer: Any) -> Any:
    """The value that stands for an answer: the items of a list; what an answer says of itself; else the answer."""
    if isinstance(answer, ListPage | Items):
        return [value_of(item) for item in answer.items]
    value = getattr(answer, "value", None)
    return value() if callable(value) else answer


def _path(template: str, names: tuple[str, ...]) -> str:
    rest = iter(names)
    return path(*(next(rest) if part.startswith("{") else part for part in template.strip("/").split("/")))


@cache
def _query_names(operation: Operation[Any]) -> Mapping[str, str]:
    """Names of the query's fields, and as they are sent."""
    if operation.query is None:
        return {}
    return {field.name: field.encode_name for field in msgspec.structs.fields(operation.query)}


@cache
def _reader(operation: Operation[T]) -> Callable[[bytes], T]:
    if operation.status == 204:
        return ignore  # type: ignore[return-value]
    if operation.answer is bytes:
        return lambda content: content  # type: ignore[return-value]
    decode: Callable[[bytes], T] = msgspec.json.Decoder(operation.answer).decode
    return decode
