"""API reference page, made from the OpenAPI document."""

from __future__ import annotations

import json
from collections import defaultdict
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workbell.http.pages.page import page
from workbell.http.service import service_of
from workbell.wire.openapi import openapi

DEEPEST = 4  # schemas within schemas


async def reference(request: Request) -> Response:
    root = request.scope.get("root_path", "")
    return await service_of(request).pages.answer(
        request, f"reference {root}", lambda: page(request, "The API of Workbell", _body(openapi()))
    )


def _body(description: dict[str, Any]) -> str:
    groups: dict[str, list[str]] = defaultdict(list)
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append(_operation(description, path, method, operation))
    links = " · ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in groups)
    intro = "".join(f"<p>{_marked(part)}</p>" for part in description["info"]["description"].strip().split("\n\n"))
    parts = [f'<h2 id="{escape(name)}">{escape(name)}</h2>' + "".join(listed) for name, listed in groups.items()]
    return f"<h1>The API of Workbell</h1>{intro}<p>{links}</p>" + "".join(parts)


def _operation(description: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> str:
    words = [operation["summary"], *operation.get("description", "").split("\n\n")]
    text = "".join(f"<p>{_marked(part)}</p>" for part in words)
    parameters = (_resolved(description, one) for one in operation.get("parameters", ()))
    rows = [_row(one["name"], one.get("schema", {}), one.get("description", "")) for one in parameters]
    asked = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answered = next(iter(operation["responses"].items()))
    shown = answered[1].get("content", {}).get("application/json", {}).get("schema")
    table = f"<table><tr><th>parameter</th><th>type</th><th></th></tr>{''.join(rows)}</table>" if rows else ""
    return (
        f'<h3 id="{escape(operation["operationId"])}"><span class="verb">{method.upper()}</span> '
        f"<code>{escape(path)}</code></h3>{text}{table}"
        + (f'<p class="faint">Body</p>{_schema(description, asked)}' if asked else "")
        + (f'<p class="faint">Answer {escape(answered[0])}</p>{_schema(description, shown)}' if shown else "")
    )


def _resolved(description: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The component that a part refers to, or the part itself."""
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    found: dict[str, Any] = description["components"][kind][name]
    return found


def _row(name: str, schema: dict[str, Any], text: str) -> str:
    return f"<tr><td><code>{escape(name)}</code></td><td>{escape(_kind(schema))}</td><td>{_marked(text)}</td></tr>"


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    kinds = schema.get("type", "any")
    if isinstance(kinds, list):
        return " or ".join(_kind({**schema, "type": kind}) if kind != "null" else kind for kind in kinds)
    return str(schema.get("format", kinds))


def _schema(description: dict[str, Any], schema: dict[str, Any]) -> str:
    return (
        f"<pre><code>{escape(json.dumps(_example(description, schema, 0), indent=2, ensure_ascii=False))}</code></pre>"
    )


def _example(description: dict[str, Any], schema: dict[str, Any], depth: int) -> Any:
    """Something that fits: what the schema names as an example, else the kinds of its fields."""
    if "$ref" in schema:
        return _example(description, _resolved(description, schema), depth)
    if schema.get("examples"):
        return schema["examples"][0]
    if "properties" in schema and depth < DEEPEST:
        return {name: _example(description, one, depth + 1) for name, one in schema["properties"].items()}
    if schema.get("type") == "array" and depth < DEEPEST:
        return [_example(description, schema.get("items", {}), depth + 1)]
    return _kind(schema)


def _marked(text: str) -> str:
    """Plain text with `code` in it."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
