"""Generator of TypeScript types from the OpenAPI document: writes src/workbell/http/dashboard/types/api.d.ts.

The dashboard's JavaScript is checked against them (`make check`), so that a field, a filter or a path that the API does
not have is an error there, and nobody writes the fields of an answer a second time. `--check` only says whether the
file is up to date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from workbell.wire.openapi import openapi

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "src/workbell/http/dashboard/types/api.d.ts"
HEAD = """// Types of the HTTP API, generated from its OpenAPI document by tools/dashboard_types.py.
// Do not edit them: run `make generate`.
"""
REFERENCE = re.compile(r"#/components/schemas/(.+)")
PARAMETER = re.compile(r"\{[^}]*\}")
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
METHODS = ("get", "put", "post", "patch", "delete")
JSON = "application/json"

Schema = Mapping[str, Any]


def types_of(page: Schema) -> str:
    """The declarations for an OpenAPI 3.1 document: `Schemas` by name, `Operations` by method and path, and
    `Operation<"GET /runs/…">`, which finds the operation of an address."""
    components = page.get("components", {})
    schemas = components.get("schemas", {})
    parameters = {f"#/components/parameters/{name}": one for name, one in components.get("parameters", {}).items()}
    operations = {
        f"{method.upper()} {path}": item[method]
        for path, item in page.get("paths", {}).items()
        for method in METHODS
        if method in item
    }
    parts = [
        HEAD,
        "export interface Schemas {",
        *_indented(f"{_text(name)}: {type_of(schema)};" for name, schema in schemas.items()),
        "}\n",
        "/** `answer` is null where there is no content; `query` has the names of the parameters. */",
        "export interface Operations {",
        *_indented(f"{_text(name)}: {_operation(operation, parameters)};" for name, operation in operations.items()),
        "}\n",
        "/** The operation of a method and an address, in which any text may stand for a parameter. */",
        "export type Operation<Asked extends string> =",
        *_indented(_found(operations)),
        *_indented(["never;"]),
        "",
    ]
    return "\n".join(parts)


def type_of(schema: Schema | bool) -> str:
    """The type of a schema. Keywords that say no more than TypeScript can (`pattern`, `minimum`) are left out."""
    if isinstance(schema, bool):
        return "unknown" if schema else "never"
    found = [*_combined(schema)]
    if "const" in schema:
        found.append(_text(schema["const"]))
    elif "enum" in schema:
        found.append(_union(map(_text, schema["enum"])))
    elif "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        found.append(_union(_of_kind(kind, schema) for kind in kinds))
    elif "properties" in schema or "additionalProperties" in schema:
        found.append(_object(schema))
    elif "prefixItems" in schema or "items" in schema:
        found.append(_array(schema))
    return _intersection(found)


def _combined(schema: Schema) -> Iterator[str]:
    """References and choices, which may stand beside other keywords: all of them hold."""
    if "$ref" in schema:
        match = REFERENCE.fullmatch(schema["$ref"])
        if match is None:
            raise ValueError(f"Reference {schema['$ref']!r} is not to a schema of the components.")
        yield f"Schemas[{_text(match[1])}]"
    for word in ("anyOf", "oneOf"):
        if word in schema:
            yield _union(map(type_of, schema[word]))
    yield from map(type_of, schema.get("allOf", ()))


def _of_kind(kind: str, schema: Schema) -> str:
    if kind == "object":
        return _object(schema)
    return _array(schema) if kind == "array" else PLAIN[kind]


def _object(schema: Schema) -> str:
    # The dashboard sends no field that the server passes over.
    properties: Mapping[str, Schema | bool] = schema.get("properties", {})
    fields = {name: one for name, one in properties.items() if isinstance(one, bool) or not one.get("readOnly")}
    needed = set(schema.get("required", ()))
    more = schema.get("additionalProperties", not fields)
    # A reader may look for fields that the schema does not name only where it says that there are such.
    others = f"{{ [name: string]: {type_of(more)} }}" if more is not False else None
    if not fields:
        return others or "{ [name: string]: never }"
    named = (f"{_text(name)}{'' if name in needed else '?'}: {type_of(field)};" for name, field in fields.items())
    whole = "\n".join(["{", *_indented(named), "}"])
    return whole if others is None else f"{whole} & {others}"


def _array(schema: Schema) -> str:
    items = schema.get("items", True)
    first = [type_of(item) for item in schema.get("prefixItems", ())]
    if not first:
        return f"{_inner(type_of(items))}[]"
    least = schema.get("minItems", 0)
    members = [member if place < least else f"{_inner(member)}?" for place, member in enumerate(first)]
    if items is not False and schema.get("maxItems") != len(first):
        members.append(f"...{_inner(type_of(items))}[]")
    return f"[{', '.join(members)}]"


def _union(members: Iterable[str]) -> str:
    found = list(dict.fromkeys(members))
    if "unknown" in found:
        return "unknown"
    return " | ".join(f"({one})" if " & " in one else one for one in found) or "never"


def _intersection(members: Iterable[str]) -> str:
    found = [one for one in dict.fromkeys(members) if one != "unknown"]
    if len(found) == 1:
        return found[0]
    return " & ".join(map(_inner, found)) or "unknown"


def _inner(text: str) -> str:
    """A type within another one."""
    return f"({text})" if " | " in text or " & " in text else text


def _operation(operation: Schema, shared: Mapping[str, Schema]) -> str:
    answers = (answer for status, answer in operation.get("responses", {}).items() if status.startswith("2"))
    answer = _union(_content(answer, "null") for answer in answers)
    body = _content(operation.get("requestBody", {}), "undefined")
    parameters = (shared[one["$ref"]] if "$ref" in one else one for one in operation.get("parameters", ()))
    names = _union(_text(one["name"]) for one in parameters if one["in"] == "query")
    return f"{{ answer: {answer}; body: {body}; query: {names} }}"


def _content(holder: Schema, none: str) -> str:
    """The type of a JSON body or answer; `none` where there is no content."""
    content = holder.get("content")
    if not content:
        return none
    return type_of(content[JSON].get("schema", True)) if JSON in content else "unknown"


def _found(names: Iterable[str]) -> Iterator[str]:
    """One condition a path. A path with more parts, or with fewer parameters, is more exact: it comes first."""
    for name in sorted(names, key=lambda one: (-one.count("/"), one.count("{"), one)):
        yield f"Asked extends {_pattern(name)} ? Operations[{_text(name)}] :"


def _pattern(path: str) -> str:
    return f"`{PARAMETER.sub('${string}', path)}`"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (indent(line, "  ") for line in lines)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    text = types_of(openapi())
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text, "utf-8")
    elif not FILE.is_file() or FILE.read_text("utf-8") != text:
        raise SystemExit(f"{FILE.relative_to(ROOT).as_posix()} is not up to date; run `make generate`.")


if __name__ == "__main__":
    main()
