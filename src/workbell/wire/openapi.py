"""OpenAPI 3.1 page of the table of operations. What several operations share stands once, as a component."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from types import NoneType
from typing import Any

import msgspec

from workbell.wire.operation import PREFIX, Content, Header, Operation
from workbell.wire.problem import PROBLEM_JSON, Problem
from workbell.wire.schemas import Schemas, without_null
from workbell.wire.table import OPERATIONS

JSON = "application/json"
REFUSALS = (400, 401, 403, 404, 409, 412, 413, 422, 429, 503)
API_VERSION = "1"
DESCRIPTION = """Everything that Workbell can do, over HTTP.

Send a token as `Authorization: Bearer wb_…`; `workbell tokens create` makes one. Times are RFC 3339 in UTC, lists come
in pages (`next` is the cursor of the next one), errors are `application/problem+json`. A create may carry an
`Idempotency-Key`: the same key makes nothing twice.
"""
TENANT = {
    "name": "tenant",
    "in": "query",
    "description": "For which tenant; only a token of all tenants may name another than its own.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}

Parameter = dict[str, Any]


def openapi(operations: Iterable[Operation[Any]] = OPERATIONS) -> dict[str, Any]:
    """The page that describes the API."""
    table = [*operations]
    schemas = Schemas()
    parameters = _Parameters({operation.name: [*_parameters(operation, schemas)] for operation in table})
    bodies = {operation.name: _body(operation, schemas) for operation in table}
    schemas.of_answers = True
    problem = schemas.of(Problem)
    paths: dict[str, dict[str, Any]] = {}
    for operation in table:
        described = _described(operation, parameters.of(operation.name), bodies[operation.name], schemas)
        paths.setdefault(PREFIX + operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "Workbell", "version": API_VERSION, "description": DESCRIPTION},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "parameters": parameters.components,
            "responses": {str(status): _refusal(status, problem) for status in REFUSALS},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "A token."}},
        },
    }


class _Parameters:
    """Parameters of all operations; one that several of them have is a component."""

    def __init__(self, by_operation: Mapping[str, list[Parameter]]) -> None:
        self._texts = {name: [msgspec.json.encode(one) for one in listed] for name, listed in by_operation.items()}
        self._shown = {
            text: one
            for name, listed in by_operation.items()
            for text, one in zip(self._texts[name], listed, strict=True)
        }
        self.components: dict[str, Parameter] = {}
        uses = Counter(text for texts in self._texts.values() for text in texts)
        for text in (text for text, number in uses.items() if number > 1):
            one = self._shown[text]
            name = self._free(one["name"])
            self.components[name] = one
            self._shown[text] = {"$ref": f"#/components/parameters/{name}"}

    def of(self, operation: str) -> list[Parameter]:
        return [self._shown[text] for text in self._texts[operation]]

    def _free(self, name: str) -> str:
        """`limit`, and `limit_2` for another parameter of that name."""
        alike = sum(one["name"] == name for one in self.components.values())
        return f"{name}_{alike + 1}" if alike else name


def _described(
    operation: Operation[Any], parameters: list[Parameter], body: dict[str, Any] | None, schemas: Schemas
) -> dict[str, Any]:
    summary, _, more = operation.text.partition("\n")
    found: dict[str, Any] = {
        "tags": [operation.resource],
        "summary": summary,
        "description": "\n\n".join(filter(None, (more.strip(), _who_may(operation)))),
        "operationId": operation.name,
        "responses": _responses(operation, schemas),
    }
    if parameters:
        found["parameters"] = parameters
    if operation.open:
        found["security"] = []
    if body is not None:
        found["requestBody"] = body
    return found


def _who_may(operation: Operation[Any]) -> str:
    if operation.open:
        return "Needs no token."
    return "Needs a token" + (f" with the scope `{operation.scope}`." if operation.scope is not None else ".")


def _parameters(operation: Operation[Any], schemas: Schemas) -> Iterator[Parameter]:
    for name in operation.parameters:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if operation.query is not None:
        fields, required = schemas.fields(operation.query)
        for name, field in fields.items():
            schema = without_null(field)
            text = schema.pop("description", None)
            needed = {"required": True} if name in required else {}
            described = {} if text is None else {"description": text}
            yield {"name": name, "in": "query", **needed, **described, "schema": schema}
    if not operation.open:
        yield TENANT
    yield from map(_header, operation.all_headers)


def _header(header: Header) -> Parameter:
    return {"name": header.name, "in": "header", "description": header.text, "schema": dict(header.schema)}


def _body(operation: Operation[Any], schemas: Schemas) -> dict[str, Any] | None:
    content: dict[str, Any] = {}
    if operation.body is not None:
        content[JSON] = {"schema": schemas.of(operation.body)}
        # What they hold is said where the thing is shown.
        schemas.component(operation.body)["properties"] |= {
            name: {"readOnly": True} for name in sorted(operation.read_only)
        }
        if operation.examples:
            schemas.component(operation.body)["examples"] = [*operation.examples]
    for media_type, kind in operation.other_bodies.items():
        content[media_type] = {"schema": schemas.of(kind)}
    if operation.content is not None:
        content |= _media(operation.content)
    return {"required": operation.body_required, "content": content} if content else None


def _media(content: Content) -> dict[str, Any]:
    return {content.media_type: {"schema": dict(content.schema)}}


def _responses(operation: Operation[Any], schemas: Schemas) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": HTTPStatus(operation.status).phrase}
    if operation.answers_with is not None:
        answer = {"description": operation.answers_with.text, "content": _media(operation.answers_with)}
    elif operation.answer is not NoneType:
        answer["content"] = {JSON: {"schema": schemas.of(operation.answer)}}
    return {
        str(operation.status): answer,
        **({"304": {"description": "Not Modified"}} if operation.versioned and operation.method == "GET" else {}),
        **{str(status): {"$ref": f"#/components/responses/{status}"} for status in _refusals(operation)},
    }


def _refusals(operation: Operation[Any]) -> Iterable[int]:
    """The statuses of errors; 412 only where something may have been changed meanwhile."""
    return (status for status in REFUSALS if status != 412 or operation.method != "GET")


def _refusal(status: int, problem: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": HTTPStatus(status).phrase, "content": {PROBLEM_JSON: {"schema": problem}}}
