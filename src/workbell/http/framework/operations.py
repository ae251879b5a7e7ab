"""Serves the operations of the wire's table, deny by default: each is guarded by its scope before anything is parsed.

Token, scope and tenant come first (`Service.admit`), then `If-Match` where nothing would check it, then, where
something is created, the idempotency key, then the query and the body; an operator's action goes into the audit log, in
one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from inspect import signature
from typing import Any, TypeAlias, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import InvalidOption, NotFound, PreconditionFailed
from workbell.http.framework.answers import JsonResponse, check_shown
from workbell.http.framework.call import CALL, ApiCall, header_of, request_headers
from workbell.http.framework.parsing import parse_body, parse_query, take_read_only
from workbell.http.framework.versions import Precondition, Versioned
from workbell.http.policies.audit_trail import audited
from workbell.http.policies.idempotency import answer_once
from workbell.http.service import service_of
from workbell.wire.operation import PREFIX, Operation, Query

Answer = TypeVar("Answer")
Answered: TypeAlias = Answer | Versioned[Answer] | Response
Handler = Callable[..., Awaitable[Any]]

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ServedOperation:
    """An operation and its handler, which gets the call, the names in the path, `query`, `body` and `condition`."""

    def __init__(self, operation: Operation[Any], handle: Handler) -> None:
        self.operation = operation
        self.path = PREFIX + operation.path  # as the metrics show it
        self.parameters = operation.parameters
        self.handle = handle
        self._is_audited = operation.is_audited
        self._checks_etag = operation.takes_condition or operation.method == "GET"
        self._read_only = operation.read_only
        self._no_query = _without_parameters(operation.query)
        wanted = {*signature(handle).parameters} - {"call"}
        has = {*operation.parameters}
        has |= {"query"} if operation.query is not None else set()
        has |= {"body"} if operation.body is not None else set()
        has |= {"condition"} if operation.takes_condition else set()
        if wanted != has:
            raise TypeError(f"{operation.name}: its handler takes {sorted(wanted)}, and there is {sorted(has)}.")

    async def answer(self, request: Request) -> Response:
        """The answer to a request, or the error why there is none."""
        operation = self.operation
        call = await service_of(request).admit(request, operation.scope, is_open=operation.open)
        _check_characters(request)
        if not self._checks_etag:
            _refuse_condition(request)
        request.scope[CALL] = call
        once = operation.creates and b"idempotency-key" in request_headers(request.scope)
        answer = answer_once(call, lambda _request: self._work(call)) if once else self._work(call)
        return await (audited(call, operation.name, answer) if self._is_audited else answer)

    async def _work(self, call: ApiCall) -> Response:
        operation, request = self.operation, call.request
        given: dict[str, Any] = dict(request.path_params)
        sent = request.query_params.multi_items() if request.scope["query_string"] else ()
        if not sent and self._no_query is not None:
            given["query"] = self._no_query
        elif operation.query is not None:
            given["query"] = parse_query(operation.query, sent, input_fields=operation.input_fields)
        elif sent:
            parse_query(Query, sent)  # which refuses what is unknown
        if operation.body is not None:
            content = await call.content()
            if self._read_only:
                content, call.read_only = take_read_only(content, self._read_only)
            empty = not operation.body_required and content in (b"", b"null")
            given["body"] = operation.body() if empty else parse_body(_body_kind(operation, request), content)
        if operation.takes_condition:
            given["condition"] = Precondition(request, call.read_only)
        answer = await self.handle(call, **given)
        if isinstance(answer, Response):
            return answer
        check_shown(request, answer.shown if isinstance(answer, Versioned) else answer)
        if isinstance(answer, Versioned):
            return answer.answer(request, operation.status)
        return Response(status_code=204) if answer is None else JsonResponse(answer, operation.status)


class Served:
    """The handlers of one module, by the names of their operations."""

    def __init__(self) -> None:
        self._served: list[ServedOperation] = []

    def __iter__(self) -> Iterator[ServedOperation]:
        return iter(self._served)

    def __call__(
        self, operation: Operation[Answer]
    ) -> Callable[[Callable[..., Awaitable[Answered[Answer]]]], Callable[..., Awaitable[Answered[Answer]]]]:
        """Serve an operation by the decorated function; it answers what the table says, with its version where it has
        one, or a response of its own."""

        def decorate(
            handle: Callable[..., Awaitable[Answered[Answer]]],
        ) -> Callable[..., Awaitable[Answered[Answer]]]:
            self._served.append(ServedOperation(operation, handle))
            return handle

        return decorate


def _without_parameters(query: type[Query] | None) -> Query | None:
    """Default query, for requests without a query string; none where a parameter is required."""
    if query is None or any(field.required for field in msgspec.structs.fields(query)):
        return None
    return query()


def _body_kind(operation: Operation[Any], request: Request) -> type[msgspec.Struct]:
    """The struct of a body by its media type; one that the operation does not name is taken for JSON."""
    assert operation.body is not None
    if not operation.other_bodies:
        return operation.body
    media_type = (header_of(request.scope, b"content-type") or "").partition(";")[0].strip().lower()
    return operation.other_bodies.get(media_type, operation.body)


def _refuse_condition(request: Request) -> None:
    """Refuse `If-Match` where no ETag is compared: RFC 9110 (13.1.1) forbids to act unless the condition holds.

    `*` asks only that the thing exists, which the operation finds out by itself.
    """
    condition = header_of(request.scope, b"if-match")
    if condition is not None and condition.strip() != "*":
        raise PreconditionFailed("This operation compares no ETag; leave If-Match out.")


def _check_characters(request: Request) -> None:
    """Refuse control characters in the path, which no name has, and a NUL in the query, which no SQL takes."""
    path, query = request.scope["path"], request.scope["query_string"]
    if CONTROL.search(path):
        raise NotFound("There is nothing here: no name has control characters.")
    if b"%00" in query or b"\x00" in query:
        raise InvalidOption("The query has a NUL character (%00); leave it out.")
