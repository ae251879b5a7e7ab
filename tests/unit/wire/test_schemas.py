"""Schemas of structs: they say the same as msgspec's, which reads and writes the structs, in fewer words."""

from __future__ import annotations

import re
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import pytest
from msgspec import Meta

from workbell.wire.operation import Operation
from workbell.wire.problem import Problem
from workbell.wire.schemas import Schemas, without_null
from workbell.wire.table import OPERATIONS

Item = TypeVar("Item")
GENERIC = re.compile(r"(\w+?)_(\w+)_")  # as msgspec names ListPage[Run]


class Leaf(msgspec.Struct, kw_only=True):
    """The end of a tree."""

    size: Annotated[int, Meta(ge=0)] = 3
    twin: Leaf | None = None


class Tree(msgspec.Struct, Generic[Item], kw_only=True, forbid_unknown_fields=True):
    leaves: Annotated[list[Item], Meta(max_length=9)]
    span: tuple[str, str] | None = None
    mixed: tuple[str, int] | msgspec.UnsetType = msgspec.UNSET
    names: dict[str, Any] = {}


class Wood(Tree[Leaf], kw_only=True):
    """A tree that says what its leaves are."""


def kinds_of(operation: Operation[Any]) -> list[Any]:
    bodies = [operation.body, operation.query, *operation.other_bodies.values()]
    answers = [operation.answer] if operation.answers_with is None and operation.answer is not type(None) else []
    return [*(body for body in bodies if body is not None), *answers]


def plain(schema: Any) -> Any:
    """A schema without what says nothing, and with everything in one form."""
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = schema | {"$ref": GENERIC.sub(r"\2\1", schema["$ref"])}
    found = {
        word: {name: plain(one) for name, one in value.items()} if word == "properties" else plain(value)
        for word, value in schema.items()
        if word not in ("title", "default", "examples") and (word, value) != ("required", [])
    }
    if "enum" in found:
        found["enum"] = sorted(found["enum"])
        found.pop("type", None)
    if isinstance(found.get("type"), list):
        text = {word: found.pop(word) for word in ("description",) if word in found}
        found = {
            "anyOf": [found | {"type": kind} if kind != "null" else {"type": kind} for kind in found["type"]]
        } | text
    if "prefixItems" in found and found["prefixItems"][1:] == found["prefixItems"][:-1]:
        found["items"] = found.pop("prefixItems")[0]
    if "anyOf" in found:  # where a description stands tells nothing
        inner = [one.pop("description") for one in found["anyOf"] if "description" in one]
        found |= {"description": inner[0]} if inner and "description" not in found else {}
    return found


def test_they_say_what_msgspec_says() -> None:
    kinds = [*dict.fromkeys([Problem, *(kind for one in OPERATIONS for kind in kinds_of(one))])]
    schemas = Schemas()
    for kind in kinds:
        schemas.of(kind)
    _, wanted = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    assert len(wanted) > 100
    assert {GENERIC.sub(r"\2\1", name): plain(schema) for name, schema in wanted.items()} == {
        name: plain(schema) for name, schema in schemas.components.items()
    }


def test_defaults_that_say_something() -> None:
    fields, required = Schemas().fields(Leaf)
    assert fields["size"] == {"type": "integer", "minimum": 0, "default": 3}
    assert "default" not in fields["twin"]
    assert required == []


def test_answers_have_all_fields() -> None:
    schemas = Schemas()
    schemas.of_answers = True
    fields, required = schemas.fields(Leaf)
    assert required == ["size", "twin"]
    assert "default" not in fields["size"]
    assert schemas.fields(Tree[Leaf])[1] == ["leaves", "span", "names"], "but for those that may be unset"
    assert schemas.fields(Problem)[1] == ["type", "title", "status", "detail"], "and those of a struct that omits some"


def test_a_struct_may_refer_to_itself() -> None:
    schemas = Schemas()
    assert schemas.of(Leaf) == {"$ref": "#/components/schemas/Leaf"}
    twin = schemas.components["Leaf"]["properties"]["twin"]
    assert twin == {"anyOf": [{"$ref": "#/components/schemas/Leaf"}, {"type": "null"}]}


@pytest.mark.parametrize(("kind", "name"), [(Tree[Leaf], "LeafTree"), (Wood, "Wood")])
def test_generic_structs(kind: Any, name: str) -> None:
    schemas = Schemas()
    assert schemas.of(kind) == {"$ref": f"#/components/schemas/{name}"}
    assert schemas.component(kind)["properties"] == {
        "leaves": {"type": "array", "items": {"$ref": "#/components/schemas/Leaf"}, "maxItems": 9},
        "span": {"type": ["array", "null"], "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
        "mixed": {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "names": {"type": "object"},
    }
    assert schemas.component(kind)["additionalProperties"] is False


def test_two_types_of_one_name() -> None:
    schemas = Schemas()
    schemas.of(Leaf)
    with pytest.raises(TypeError, match="Two types are called Leaf"):
        schemas.of(msgspec.defstruct("Leaf", []))


def test_a_limit_of_a_union() -> None:
    with pytest.raises(TypeError, match="belong to one type of a union"):
        Schemas().of(Annotated[int | None, Meta(ge=0)])


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": ["string", "null"], "maxLength": 3}, {"type": "string", "maxLength": 3}),
        ({"anyOf": [{"$ref": "x"}, {"type": "null"}], "description": "d"}, {"$ref": "x", "description": "d"}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        ({"type": "string"}, {"type": "string"}),
    ],
)
def test_a_place_without_null(schema: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert without_null(schema) == wanted
