"""Parses requests to the structs of an operation: query strings, and JSON bodies."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from workbell.errors import InvalidOption
from workbell.http.framework.parse_errors import alternatives, invalid_body, invalid_json, invalid_parameter
from workbell.http.framework.problems import InvalidRequest
from workbell.model.suggestions import list_options
from workbell.model.unreadable import decode_json
from workbell.wire.operation import Query
from workbell.wire.run_filter import FIELD

Body = TypeVar("Body", bound=msgspec.Struct)
Asked = TypeVar("Asked", bound=Query)

PAGING = frozenset({"after", "before", "limit"})  # clients send them to lists of one page too


@cache
def _decoder(kind: type[Body]) -> msgspec.json.Decoder[Body]:
    return msgspec.json.Decoder(kind)


def parse_body(kind: type[Body], content: bytes) -> Body:
    """A JSON body as its struct; raises InvalidRequest with the field and the reason."""
    try:
        found: Body = _decoder(kind).decode(content)
        return found
    except msgspec.ValidationError as error:
        raise invalid_body(kind, error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid_json(error, content) from None


def take_read_only(content: bytes, names: frozenset[str]) -> tuple[bytes, Mapping[str, msgspec.Raw]]:
    """A body without the fields that only show the thing, and those. One that is no object stays as it is."""
    try:
        fields = _FIELDS.decode(content)
        found = {name: fields.pop(name) for name in names & fields.keys()}
        for value in found.values():  # what is passed over must be JSON too
            decode_json(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return content, {}
    return (msgspec.json.encode(fields), found) if found else (content, {})


def check_read_only(sent: Mapping[str, msgspec.Raw], **stored: Any) -> None:
    """Raise if a body shows another thing than the one that it is for, or asks by such a field for a change.

    `stored` are those that do not change by themselves; None: the thing is new, and gets its own. Times, counters and
    the like are passed over: they have changed since they were read.
    """
    for name, value in stored.items():
        if name not in sent or (wanted := msgspec.json.decode(sent[name])) == value:
            continue
        here = "a new one gets its own" if value is None else f"here it is {msgspec.json.encode(value).decode()}"
        verbs = _VERBS.get(name, ())
        remedy = f", and set it by POST …/{verbs[wanted]}" if verbs and isinstance(wanted, bool) else ""
        raise InvalidRequest(f"body.{name}", f"it is read-only, and {here}; leave it out{remedy}")


_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VERBS = {"paused": ("resume", "pause"), "enabled": ("disable", "enable")}  # that set it to false, and to true


class _QueryField(NamedTuple):
    """Parameter of a query: the name of its field in the struct, its type and how its text is read."""

    name: str
    kind: Any
    is_list: bool
    is_strict: bool  # the text is the value; else it is written as a number or as true and false


@cache
def _fields(kind: type[Query]) -> Mapping[str, _QueryField]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {
        field.encode_name: _QueryField(
            field.name, hints[field.name], *_reading(msgspec.inspect.type_info(hints[field.name]))
        )
        for field in msgspec.structs.fields(kind)
    }


def _reading(kind: msgspec.inspect.Type) -> tuple[bool, bool]:
    parts = alternatives(kind)
    is_list = any(isinstance(part, msgspec.inspect.ListType) for part in parts)
    lax = msgspec.inspect.IntType, msgspec.inspect.FloatType, msgspec.inspect.BoolType
    texts = msgspec.inspect.StrType, msgspec.inspect.DateTimeType, msgspec.inspect.EnumType, msgspec.inspect.ListType
    return is_list, any(isinstance(part, texts) for part in parts) or not any(isinstance(part, lax) for part in parts)


def parse_query(kind: type[Asked], sent: Sequence[tuple[str, str]], *, input_fields: bool = False) -> Asked:
    """A query string as its struct. An unknown name is refused: a misspelt filter would find everything."""
    known = _fields(kind)
    found: dict[str, Any] = {}
    for name, text in sent:
        field = known.get(name)
        if field is None:
            if name in PAGING or name == "tenant" or (input_fields and name.startswith(FIELD)):
                continue
            options = list_options(name, {*known, "tenant"}, called="parameters")
            raise InvalidOption(f"Unknown query parameter {name[:60]!r}; {options}")
        if field.is_list:
            found.setdefault(field.name, []).append(text)
        else:
            found[field.name] = text  # of several the last one counts
    for name, field in known.items():
        if field.name in found:
            found[field.name] = _converted(name, field, found[field.name])
        elif kind.__struct_fields__ and _is_required(kind, field.name):
            raise InvalidRequest(f"query.{name}", "the parameter is missing")
    return kind(**found)


def _converted(name: str, field: _QueryField, value: Any) -> Any:
    try:
        found = msgspec.convert(value, field.kind, strict=field.is_strict)
    except msgspec.ValidationError:
        found = None
    if found is None:  # also of the text "null", which would be no filter at all
        raise invalid_parameter(name, field.kind, value)
    return found


@cache
def _is_required(kind: type[Query], name: str) -> bool:
    return any(field.name == name and field.required for field in msgspec.structs.fields(kind))
