"""JSON Schema of a handler's arguments, for forms and other programs."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec

# msgspec leaves the format out where a time may come without a zone.
_TIME = Annotated[datetime, msgspec.Meta(extra_json_schema={"format": "date-time"})]


def input_schema(arguments: type[msgspec.Struct], defaults: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of `arguments`, with the defaults that JSON can carry; none, where a type has no schema."""
    shown = msgspec.defstruct(
        arguments.__name__,
        [_field(field) for field in msgspec.structs.fields(arguments)],
        kw_only=True,
        forbid_unknown_fields=arguments.__struct_config__.forbid_unknown_fields,
    )
    of_models: dict[str, Any] = {}
    try:
        whole = msgspec.json.schema(shown, schema_hook=lambda kind: _of_model(kind, of_models))
    except TypeError:
        return None
    definitions = whole.pop("$defs")
    found: dict[str, Any] = definitions.pop(whole["$ref"].rpartition("/")[2])  # the arguments themselves
    for name, default in defaults.items():
        with suppress(TypeError, ValueError):
            found["properties"][name]["default"] = msgspec.json.decode(msgspec.json.encode(default))
    definitions |= of_models
    return found | ({"$defs": definitions} if definitions else {})


def schema_with_template(schema: dict[str, Any] | None, template: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of what is left to give: the fields of an input template have defaults, and are not required."""
    if schema is None or not template:
        return schema
    properties = dict(schema.get("properties", {}))
    for name, value in template.items():
        properties[name] = {**properties.get(name, {}), "default": value}
    required = [name for name in schema.get("required", []) if name not in template]
    return schema | {"properties": properties, "required": required}


def _field(field: msgspec.structs.FieldInfo) -> Any:
    kind = _with_time_format(field.type)
    return (field.name, kind) if field.required else (field.name, kind, msgspec.UNSET)


def _with_time_format(kind: Any) -> Any:
    """The type, with `format: date-time` wherever it names a datetime; the fields of a class are left as they are."""
    if kind is datetime:
        return _TIME
    parts = typing.get_args(kind)
    if not parts or typing.get_origin(kind) in (typing.Literal, Annotated):
        return kind
    parts = tuple(_with_time_format(part) for part in parts)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return reduce(or_, parts)
    return typing.get_origin(kind)[parts]


def _of_model(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a Pydantic model, whose inner models go to `definitions`; anything, for a type that has none."""
    anything = {"title": kind.__name__}  # msgspec takes an empty schema for none at all
    make = getattr(kind, "model_json_schema", None)
    if not callable(make):
        return anything
    # Named after the outer model: two of them may have inner models of one name.
    prefix = f"{kind.__module__}.{kind.__qualname__}."
    try:
        schema: dict[str, Any] = make(ref_template=f"#/$defs/{prefix}{{model}}")
    except Exception:  # noqa: BLE001  a model of the application's; without its schema the other arguments keep theirs
        return anything
    definitions |= {prefix + name: inner for name, inner in schema.pop("$defs", {}).items()}
    return schema
