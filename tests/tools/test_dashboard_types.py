"""Types of the dashboard: what each keyword of a schema becomes; the committed file is what the API gives now."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.pages import ROOT, plain_environment
from tools.dashboard_types import type_of, types_of

A = {"$ref": "#/components/schemas/A"}
B = {"$ref": "#/components/schemas/B"}
LIMIT = {"limit": {"in": "query", "name": "limit"}}


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "string", "format": "date-time", "maxLength": 3}, "string"),
        ({"type": "integer", "minimum": 0}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({}, "unknown"),
        (True, "unknown"),
        (False, "never"),
        ({"title": "Result", "description": "Anything."}, "unknown"),
        (A, 'Schemas["A"]'),
        ({"anyOf": [A, {"type": "null"}], "default": None}, 'Schemas["A"] | null'),
        ({"anyOf": [A, {}]}, "unknown"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "number"),
        ({"allOf": [A]}, 'Schemas["A"]'),
        ({"allOf": [A, B]}, 'Schemas["A"] & Schemas["B"]'),
        ({"allOf": [A, {"anyOf": [B, {"type": "null"}]}]}, 'Schemas["A"] & (Schemas["B"] | null)'),
        ({"anyOf": [{"allOf": [A, B]}, {"type": "null"}]}, '(Schemas["A"] & Schemas["B"]) | null'),
        ({"enum": ["a", 1, None], "type": "string"}, '"a" | 1 | null'),
        ({"const": "1.0", "type": "string"}, '"1.0"'),
        ({"const": 'a "b"'}, '"a \\"b\\""'),
        ({"type": "array", "items": A}, 'Schemas["A"][]'),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "(string | null)[]"),
        ({"type": "array"}, "unknown[]"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, A], "minItems": 2, "maxItems": 2},
            '[string, Schemas["A"]]',
        ),
        ({"prefixItems": [{"type": "string"}, A], "items": False, "minItems": 1}, '[string, Schemas["A"]?]'),
        ({"prefixItems": [A], "items": {"type": "number"}, "minItems": 1}, '[Schemas["A"], ...number[]]'),
        ({"type": "object"}, "{ [name: string]: unknown }"),
        ({"type": "object", "additionalProperties": A}, '{ [name: string]: Schemas["A"] }'),
        ({"type": "object", "additionalProperties": False}, "{ [name: string]: never }"),
        (
            {"type": "object", "properties": {"a-b": A, "c": {}}, "required": ["c"], "additionalProperties": False},
            '{\n  "a-b"?: Schemas["A"];\n  "c": unknown;\n}',
        ),
        (
            {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": True},
            '{\n  "a": string;\n} & { [name: string]: unknown }',
        ),
    ],
)
def test_keywords(schema: Any, wanted: str) -> None:
    assert type_of(schema) == wanted


def test_a_reference_to_elsewhere_is_refused() -> None:
    with pytest.raises(ValueError, match=r"other\.json"):
        type_of({"$ref": "other.json#/A"})


def test_operations() -> None:
    """Their answers, bodies and filters; and the more exact path is found first."""
    answer = {"200": {"content": {"application/json": {"schema": A}}}, "404": {"content": {"application/json": {}}}}
    paths = {
        "/runs/{id}": {"get": {"responses": answer}, "delete": {"responses": {"204": {"description": "Gone."}}}},
        "/runs/{id}/log": {"get": {"responses": {"200": {"content": {"text/plain": {}}}}}},
        "/runs/count": {
            "parameters": [],
            "get": {
                "responses": answer,
                "parameters": [
                    {"in": "query", "name": "job"},
                    {"in": "header", "name": "If-Match"},
                    {"$ref": "#/components/parameters/limit"},
                ],
            },
        },
        "/runs": {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": B}}},
                "responses": {"202": {}, **answer},
            }
        },
    }
    made = types_of({"paths": paths, "components": {"schemas": {"A": {"type": "string"}, "B": A}, "parameters": LIMIT}})
    assert '  "A": string;\n  "B": Schemas["A"];\n' in made
    for line in (
        '"GET /runs/{id}": { answer: Schemas["A"]; body: undefined; query: never };',
        '"DELETE /runs/{id}": { answer: null; body: undefined; query: never };',
        '"GET /runs/{id}/log": { answer: unknown; body: undefined; query: never };',
        '"GET /runs/count": { answer: Schemas["A"]; body: undefined; query: "job" | "limit" };',
        '"POST /runs": { answer: null | Schemas["A"]; body: Schemas["B"]; query: never };',
    ):
        assert f"  {line}\n" in made
    asked = [line.split("`")[1] for line in made.splitlines() if "Asked extends `" in line]
    assert [one for one in asked if one.startswith("GET")] == [
        "GET /runs/${string}/log",
        "GET /runs/count",
        "GET /runs/${string}",
    ]


NAMES = st.text("aZ_-.0 é", min_size=1, max_size=5)
SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        st.builds(dict),
        st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "null", "array", "object"])}),
        st.fixed_dictionaries({"enum": st.lists(st.one_of(NAMES, st.integers(), st.none()), min_size=1)}),
        st.just(A),
    ),
    lambda inner: st.one_of(
        st.builds(lambda word, some: {word: some}, st.sampled_from(["anyOf", "oneOf", "allOf"]), st.lists(inner)),
        st.builds(lambda some, rest: {"prefixItems": some, "items": rest}, st.lists(inner), inner),
        st.builds(
            lambda fields, rest: {"type": "object", "properties": fields, "additionalProperties": rest},
            st.dictionaries(NAMES, inner),
            inner,
        ),
        st.builds(lambda one: {"type": "array", "items": one}, inner),
    ),
    max_leaves=12,
)
PAIRS = {")": "(", "]": "[", "}": "{"}


@given(SCHEMAS)
def test_brackets_close_where_they_should(schema: Any) -> None:
    open_ones: list[str] = []
    for letter in type_of(schema):
        if letter in PAIRS.values():
            open_ones.append(letter)
        elif letter in PAIRS:
            assert open_ones.pop() == PAIRS[letter]
    assert not open_ones


def test_the_types_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "dashboard_types.py"), "--check"],
        env=plain_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
