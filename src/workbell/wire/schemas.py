"""JSON Schemas of structs, for the OpenAPI page; each struct and each enum is one component.

msgspec makes such schemas too. These have names that generators of clients can use (`FoundRunListPage`), are half as
long, and take a third of the time: an annotation that many fields share is evaluated once, and not for each of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

COMPONENT = "#/components/schemas/"

Schema = dict[str, Any]

_PLAIN: Mapping[Any, Schema] = {
    Any: {},
    msgspec.Raw: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
    datetime: {"type": "string"},
    list: {"type": "array"},
    dict: {"type": "object"},
}
_LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_NOTHING: tuple[Any, ...] = (None, msgspec.UNSET, "", [], {}, ())


class Schemas:
    """Schemas of types, and the components that they refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self.of_answers = False  # whether what is asked for from now on is sent by the server: with all of its fields
        self._kinds: dict[str, Any] = {}  # by the names of their components
        self._known: dict[tuple[str, str], Schema] = {}  # by module and text of an annotation

    def of(self, kind: Any, given: Mapping[Any, Any] | None = None) -> Schema:
        """The schema of a type; a struct's is a reference. `given` are the values of type variables."""
        if kind is Any or (isinstance(kind, type) and kind in _PLAIN):
            return dict(_PLAIN[kind])
        if isinstance(kind, TypeVar):
            return self.of((given or {})[kind])
        origin, args = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return _annotated(self.of(args[0], given), args[1:])
        if origin in (Union, UnionType):
            return _union([self.of(one, given) for one in args if one is not msgspec.UnsetType])
        if origin is Literal:
            return {"type": "string", "enum": [*args]}
        if origin is list or (origin is tuple and args[1:] == (...,)):
            items = self.of(args[0], given)
            return {"type": "array", "items": items} if items else {"type": "array"}
        if origin is tuple:
            return _fixed([self.of(one, given) for one in args])
        if origin is dict:
            values = self.of(args[1], given)
            return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
        return {"$ref": COMPONENT + self._component(kind)}

    def fields(self, struct: Any) -> tuple[dict[str, Schema], list[str]]:
        """The schemas of a struct's fields by their names in JSON, and which of them are required."""
        cls = get_origin(struct) or struct
        given = _given(struct)
        annotations: dict[str, _Annotation] = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, msgspec.Struct):
                annotations |= _annotations(base)
        always = self.of_answers and not cls.__struct_config__.omit_defaults
        defaults = cls.__struct_defaults__
        required = len(cls.__struct_fields__) - len(defaults)
        found: dict[str, Schema] = {}
        needed = []
        for name, sent, default in zip(
            cls.__struct_fields__,
            cls.__struct_encode_fields__,
            (*(msgspec.NODEFAULT,) * required, *defaults),
            strict=True,
        ):
            schema = self._of_field(annotations[name], given)
            if default is not msgspec.NODEFAULT:
                schema |= {} if always else _default(default)
            if default is msgspec.NODEFAULT or (always and default is not msgspec.UNSET):
                needed.append(sent)
            found[sent] = schema
        return found, needed

    def component(self, kind: Any) -> Schema:
        """The component of a struct or an enum."""
        return self.components[self._component(kind)]

    def _component(self, kind: Any) -> str:
        """The name of a struct's or an enum's component, which is made if there is none yet."""
        name = _name(kind)
        if name not in self._kinds:
            self._kinds[name] = kind
            self.components[name] = {}  # its place; a struct may refer to itself
            is_enum = isinstance(kind, type) and issubclass(kind, Enum)
            self.components[name] |= _enum(kind) if is_enum else self._object(kind)
        if self._kinds[name] != kind:
            raise TypeError(f"Two types are called {name}; rename {kind!r}.")
        return name

    def _object(self, struct: Any) -> Schema:
        cls = get_origin(struct) or struct
        fields, required = self.fields(struct)
        found: Schema = {**_description(cls), "type": "object", "properties": fields}
        if required:
            found["required"] = required
        if cls.__struct_config__.forbid_unknown_fields:
            found["additionalProperties"] = False
        return found

    def _of_field(self, field: _Annotation, given: Mapping[Any, Any]) -> Schema:
        if given:
            return self.of(field.kind, given)
        found = self._known.get(field.key)
        if found is None:
            found = self._known[field.key] = self.of(field.kind)
        return dict(found)


class _Annotation(NamedTuple):
    """Annotation of a field: module and text, and the type that they name."""

    key: tuple[str, str]
    kind: Any


@cache
def _annotations(cls: type[msgspec.Struct]) -> Mapping[str, _Annotation]:
    """The annotations in a class body, all evaluated at once: one by one, they would take most of the page's time."""
    module = cls.__module__
    texts = get_annotations(cls)
    kinds = eval(f"[{','.join(texts.values())}]", vars(sys.modules[module]))  # noqa: S307 - text of our own code
    return {name: _Annotation((module, text), kind) for (name, text), kind in zip(texts.items(), kinds, strict=True)}


def _given(struct: Any) -> dict[Any, Any]:
    """The values of type variables: of `ListPage[FoundRun]`, and of a class that is made from it."""
    cls = get_origin(struct) or struct
    bases = (made for base in cls.__mro__ for made in vars(base).get("__orig_bases__", ()))
    pairs = (
        pair
        for made in (struct, *bases)
        for pair in zip(getattr(get_origin(made), "__parameters__", ()), get_args(made), strict=False)
    )
    return {variable: value for variable, value in pairs if not isinstance(value, TypeVar)}


def without_null(schema: Schema) -> Schema:
    """The schema for a place that has no null, such as a query."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return {**schema, "type": next(kind for kind in kinds if kind != "null")}
    if "anyOf" not in schema:
        return dict(schema)
    rest = {word: value for word, value in schema.items() if word != "anyOf"}
    options = [one for one in schema["anyOf"] if one.get("type") != "null"]
    return {**options[0], **rest} if len(options) == 1 else {**rest, "anyOf": options}


def _name(kind: Any) -> str:
    cls = get_origin(kind) or kind
    return "".join(_name(arg) for arg in get_args(kind)) + str(cls.__name__)


def _enum(kind: type[Enum]) -> Schema:
    return {**_description(kind), "type": "string", "enum": [one.value for one in kind]}


def _description(kind: type) -> Schema:
    return {"description": text} if (text := (kind.__doc__ or "").strip()) else {}


def _union(options: list[Schema]) -> Schema:
    """One of several; where a plain type may be null, the short form `"type": ["string", "null"]`."""
    null = {"type": "null"}
    others = [one for one in options if one != null]
    if len(others) == len(options):
        return options[0] if len(options) == 1 else {"anyOf": options}
    if len(others) == 1 and isinstance(others[0].get("type"), str) and "enum" not in others[0]:
        return {**others[0], "type": [others[0]["type"], "null"]}
    return {"anyOf": [*others, null]}


def _fixed(items: list[Schema]) -> Schema:
    """A list of so many items. Those that are alike are told once: not every reader knows `prefixItems`."""
    alike = all(one == items[0] for one in items)
    told = {"items": items[0]} if alike else {"prefixItems": items}
    return {"type": "array", **told, "minItems": len(items), "maxItems": len(items)}


def _annotated(schema: Schema, notes: Iterable[Any]) -> Schema:
    for meta in notes:
        if isinstance(meta, msgspec.Meta):
            schema = {**schema, **_words(meta), **_limits(meta, schema.get("type"))}
    return schema


def _words(meta: msgspec.Meta) -> Schema:
    found = {word: value for word in ("description", "examples") if (value := getattr(meta, word)) is not None}
    return {**found, **(meta.extra_json_schema or {})}


def _limits(meta: msgspec.Meta, kind: Any) -> Schema:
    found = {word: value for name, word in _LIMITS.items() if (value := getattr(meta, name)) is not None}
    if meta.pattern is not None:
        found["pattern"] = meta.pattern
    if meta.tz:
        found["format"] = "date-time"
    for value, place in ((meta.min_length, 0), (meta.max_length, 1)):
        if value is not None:
            found[_LENGTHS[kind][place]] = value
    if found and not isinstance(kind, str):
        raise TypeError(f"Limits {found} belong to one type of a union: `Annotated[str, Meta(…)] | None`.")
    return found


def _default(value: Any) -> Schema:
    """The default of a field, unless it says no more than that the field may be left out."""
    made = value.factory() if hasattr(value, "factory") else value  # of a default that is made anew for each struct
    return {} if made in _NOTHING else {"default": msgspec.to_builtins(made)}
