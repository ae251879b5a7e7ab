"""Routing with authorisation, deny by default: every route declares its scope, and a token without it is refused.

A route is guarded before its parameters are even read: token, scope and tenant first (`Service.admit`), then, where it
creates something, the idempotency key; afterwards an operator's action goes into the audit log.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from http import HTTPStatus
from inspect import signature
from typing import Any, NamedTuple, TypeVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ConnectionScope

from workbell.errors import InvalidOption, NotFound
from workbell.http.audit_trail import note_call
from workbell.http.idempotency import LONGEST, REPLAYED, answer_once
from workbell.http.path_names import whole_name, with_whole_names
from workbell.http.run_filter import FIELD
from workbell.http.schemas.problem import Problem
from workbell.http.service import service_of
from workbell.model.access import Scope
from workbell.model.suggestions import list_options

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]

PREFIX = "/api/v1"
JSON, FORM = b"application/json", b"application/x-www-form-urlencoded"
PAGING = frozenset({"after", "before", "limit"})  # clients send them to lists of one page too
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
REFUSALS = (400, 401, 403, 404, 409, 412, 413, 422, 429, 503)
PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
    }
    for status in REFUSALS
}
TENANT_PARAMETER = {
    "name": "tenant",
    "in": "query",
    "required": False,
    "description": "For which tenant; only a token of all tenants may name another than its own.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}


class RouteGuard(NamedTuple):
    """Access rules of a route, and whether it is audited."""

    operation: str  # "runs.cancel"
    needs: Scope | None  # none: any valid token
    open: bool = False  # no token at all
    creates: bool = False  # an idempotency key is honoured here; else the route does that itself
    audited: bool = False


class Guarded(APIRoute):
    """A route with its guard, which is asked before anything of the request is parsed.

    One that takes nothing but the request is called directly: what the framework does for parameters, a third of the
    time of an enqueue, is spared.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        self.is_direct = _takes_request_alone(endpoint)
        super().__init__(path, endpoint, **settings)
        if self.is_direct:
            self.app = _direct(self.get_route_handler())

    def matches(self, scope: ConnectionScope) -> tuple[Match, ConnectionScope]:
        whole = with_whole_names(scope)
        if whole is None:
            return super().matches(scope)
        match, found = super().matches(whole)
        if "path_params" in found:
            found["path_params"] = {name: whole_name(value) for name, value in found["path_params"].items()}
        return match, found

    def get_route_handler(self) -> Handler:
        handle = self.endpoint if self.is_direct else super().get_route_handler()
        guard: RouteGuard = self.endpoint.guard  # type: ignore[attr-defined]

        takes_json = self.body_field is not None
        known = _query_names(self) if "GET" in (self.methods or ()) else None

        async def guarded(request: Request) -> Response:
            if takes_json:
                _as_json(request.scope)
            service = service_of(request)
            call = await service.admit(request, guard)
            _check_characters(request)
            if known is not None and request.scope["query_string"]:
                _check_query(request, known)
            request.scope["workbell.call"] = call
            if guard.creates and "idempotency-key" in request.headers:
                response = await answer_once(call, handle)
            else:
                response = await handle(request)
            repeated = REPLAYED in response.headers  # then nothing was done
            if guard.audited and response.status_code < 400 and not repeated:
                await note_call(call, guard.operation)
            return response

        return guarded


def _check_characters(request: Request) -> None:
    """Refuse control characters in the path, which no name has, and a NUL in the query, which no SQL takes."""
    path, query = request.scope["path"], request.scope["query_string"]
    if CONTROL.search(path):
        raise NotFound("There is nothing here: no name has control characters.")
    if b"%00" in query or b"\x00" in query:
        raise InvalidOption("The query has a NUL character (%00); leave it out.")


def _query_names(route: APIRoute) -> frozenset[str]:
    """The names of a route's query parameters; one that ends with a dot begins the names of fields of an input."""
    extra: list[dict[str, Any]] = (route.openapi_extra or {}).get("parameters", [])
    names = {parameter["name"] for parameter in extra if parameter["in"] == "query"}
    for field in route.dependant.query_params:
        fields = getattr(field.field_info.annotation, "model_fields", None)
        names |= {field.alias} if fields is None else {*fields, FIELD}
    return frozenset(names)


def _check_query(request: Request, known: frozenset[str]) -> None:
    """A filter that is misspelt would find everything: it is refused, not passed over."""
    for name in request.query_params:
        if name not in known and name not in PAGING and not (FIELD in known and name.startswith(FIELD)):
            options = list_options(name, known - {FIELD}, called="parameters")
            raise InvalidOption(f"Unknown query parameter {name[:60]!r}; {options}")


def _as_json(scope: MutableMapping[str, Any]) -> None:
    """Treat the content type of `curl -d`, a form, as JSON: no route here takes a form.

    Nothing is won by refusing it. A page of another site, which could send a form, is refused by its Origin.
    """
    scope["headers"] = [
        (name, JSON if name == b"content-type" and value.startswith(FORM) else value)
        for name, value in scope["headers"]
    ]


def _takes_request_alone(endpoint: Callable[..., Any]) -> bool:
    return [*signature(endpoint).parameters] == ["request"]


def _direct(handle: Handler) -> ASGIApp:
    """Errors go to the application's own handlers."""

    async def app(scope: ConnectionScope, receive: Receive, send: Send) -> None:
        response = await handle(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


class Routes:
    """The routes of one resource."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.listed: list[Guarded] = []

    def add(
        self,
        method: str,
        path: str,
        *,
        needs: Scope | None,
        answers: Any = None,
        status: int = 200,
        creates: bool = False,
        open: bool = False,  # noqa: A002
        more: Mapping[int | str, dict[str, Any]] | None = None,
        body: Any = None,
        parameters: list[dict[str, Any]] | None = None,
    ) -> Callable[[Endpoint], Endpoint]:
        """Serve a path below /api/v1. `answers` is the schema of the answer.

        `needs` is the scope, None for any valid token; `open` for no token at all. `body` is the schema of one that
        the route reads by itself, or one for each media type; `more` are further answers.
        """

        def decorate(endpoint: Endpoint) -> Endpoint:
            operation = f"{self.resource}.{endpoint.__name__}"
            audited = needs in (Scope.OPERATE, Scope.ADMIN) and method != "GET"
            endpoint.guard = RouteGuard(operation, needs, open, creates, audited)  # type: ignore[attr-defined]
            extra: dict[str, Any] = {"parameters": [*(parameters or []), *([] if open else [TENANT_PARAMETER])]}
            if creates:
                extra["parameters"] = [*extra["parameters"], IDEMPOTENCY_KEY]
            if body is not None:
                content = body if isinstance(body, Mapping) else {"application/json": body}
                extra["requestBody"] = {
                    "required": True,
                    "content": {kind: {"schema": _schema(model)} for kind, model in content.items()},
                }
            extra["security"] = [] if open else [{"token": []}]
            text = (endpoint.__doc__ or "").strip()
            self.listed.append(
                Guarded(
                    PREFIX + path,
                    endpoint,
                    methods=[method],
                    response_model=answers,
                    status_code=status,
                    tags=[self.resource],
                    summary=text.partition("\n")[0],
                    description=_described(text, needs, open),
                    operation_id=operation,
                    responses={**PROBLEMS, **(more or {})},
                    openapi_extra=extra,
                )
            )
            return endpoint

        return decorate


IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key within 24 hours gets the same answer, and makes nothing twice.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": "^[!-~]+$"},
}


def _schema(body: Any) -> dict[str, Any]:
    return body if isinstance(body, dict) else {"$ref": f"#/components/schemas/{body.__name__}"}


def _described(text: str, needs: Scope | None, is_open: bool) -> str:
    if is_open:
        return f"{text}\n\nNeeds no token."
    return f"{text}\n\nNeeds a token" + (f" with the scope `{needs}`." if needs is not None else ".")
