"""Parses query strings and JSON bodies to the structs of an operation; says in plain words what does not fit."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from workbell.errors import InvalidOption
from workbell.http.framework.problems import InvalidRequest
from workbell.model.schema_examples import AT
from workbell.model.suggestions import find_near, list_options
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


# Errors in plain words: where, and what the field must be, with its limits and its options.
#
# The words come from the type that is asked for at the place of the error, and never from what was sent: that may be a
# secret. msgspec's own messages are for programmers, and some of them repeat the value.

UNKNOWN_FIELD = "this server has no such field; it is misspelt, or the server is older than the client"
INFINITE = "it is infinite or out of range, which JSON cannot carry; leave it out, or send null or a text"
LONGEST_NAME = 100  # characters of a field's name that are told

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_GOT = re.compile(r"Expected `[^`]*`, got `(\w+)`")
_WHERE = re.compile(r" - at (`key` in )?`\$((?:\[(?:\d+|\.\.\.)\]|\.\w+)*)`\Z")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.(\w+)")
_MALFORMED = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)")
_NO_NUMBER = re.compile(rb"-?(NaN|Infinity)")
_ANY = "..."  # a step to the value of any key

_GOT_WORDS = {
    "null": "null",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "array": "a list",
    "object": "an object",
}


def invalid_body(kind: Any, error: msgspec.ValidationError) -> InvalidRequest:
    """The error of a JSON body that is not as its struct. What a struct itself refuses, it says in its own words."""
    steps, is_key, reason = _split(str(error))
    where = ".".join(["body", *(step for step in steps if step != _ANY)])
    if isinstance(error.__cause__, ValueError):
        return InvalidRequest(where, reason)
    if unknown := _UNKNOWN.fullmatch(reason):
        name = unknown[1][:LONGEST_NAME]
        near = find_near(name, _fields_of(_at(_type_of(kind), steps, is_key=is_key)))
        return InvalidRequest(
            f"{where}.{name}", UNKNOWN_FIELD if near is None else f"there is no such field; did you mean {near}?"
        )
    if missing := _MISSING.fullmatch(reason):
        return InvalidRequest(f"{where}.{missing[1]}", "the field is missing")
    if reason == "Number out of range":
        return InvalidRequest(where, INFINITE)
    found = _at(_type_of(kind), steps, is_key=is_key)
    got = _GOT.fullmatch(reason)
    not_that = f", not {_GOT_WORDS[got[1]]}" if got is not None and got[1] in _GOT_WORDS else ""
    return InvalidRequest(where, f"{'a key' if is_key else 'it'} must be {_described(found)}{not_that}")


def invalid_parameter(name: str, kind: Any, value: Any) -> InvalidRequest:
    """The error of a parameter of a query, which has no null, and whose lists are repetitions."""
    options = alternatives(_type_of(kind))
    most = next((one.max_length for one in options if isinstance(one, inspect.ListType)), None)
    if most is not None and len(value) > most:
        return InvalidRequest(f"query.{name}", f"it may be sent at most {most:,} times, not {len(value):,}")
    parts = [part for one in options for part in _items(one)]
    return InvalidRequest(f"query.{name}", f"it must be {_joined(part for part in parts if part != 'null')}")


def invalid_json(error: Exception, content: bytes) -> InvalidRequest:
    """The error of a body that is not JSON."""
    if isinstance(error, RecursionError):
        return InvalidRequest("body", "Invalid JSON: it is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return InvalidRequest("body", "Invalid JSON: a text is not UTF-8")
    found = _MALFORMED.fullmatch(str(error))
    if found is None:
        return InvalidRequest("body", "Invalid JSON: it ends within a value, or a text has half of a surrogate pair")
    reason, at = found[1], int(found[2])
    number = _NO_NUMBER.match(content, max(at - 1, 0)) or _NO_NUMBER.match(content, at)  # with its sign, if it has one
    if number is not None:
        reason = f"{number[0].decode()} is a number which JSON cannot carry; leave it out, or send null or a text"
    return InvalidRequest("body", f"Invalid JSON at byte {at}: {reason}")


@cache
def _type_of(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _split(message: str) -> tuple[list[str], bool, str]:
    """The steps to the place of an error, whether it is a key there, and the reason."""
    found = _WHERE.search(message)
    if found is None or message[: found.start()].count("`") % 2:  # part of an unknown field's name
        return [], False, message
    steps = [index or name for index, name in _STEP.findall(found[2])]
    return steps, found[1] is not None, message[: found.start()]


def _at(kind: inspect.Type, steps: Sequence[str], *, is_key: bool) -> inspect.Type | None:
    """The type that is asked for at a place."""
    options = alternatives(kind)
    if steps:
        inner = (_within(option, steps[0]) for option in options)
        return next((_at(one, steps[1:], is_key=is_key) for one in inner if one is not None), None)
    if is_key:
        return next((option.key_type for option in options if isinstance(option, inspect.DictType)), None)
    return kind


def _fields_of(kind: inspect.Type | None) -> list[str]:
    """The names of the fields of an object."""
    parts = [] if kind is None else alternatives(kind)
    return [field.encode_name for part in parts if isinstance(part, inspect.StructType) for field in part.fields]


def _within(kind: inspect.Type, step: str) -> inspect.Type | None:
    match kind:
        case inspect.StructType():
            return next((field.type for field in kind.fields if field.encode_name == step), None)
        case inspect.DictType() if step == _ANY:
            return kind.value_type
        case inspect.ListType() | inspect.VarTupleType() if step.isdigit():
            return kind.item_type
        case inspect.TupleType() if step.isdigit() and int(step) < len(kind.item_types):
            return kind.item_types[int(step)]
        case _:
            return None


def alternatives(kind: inspect.Type) -> list[inspect.Type]:
    """The types of a union, or the type itself."""
    match kind:
        case inspect.Metadata():
            return alternatives(kind.type)
        case inspect.UnionType():
            return [part for one in kind.types for part in alternatives(one)]
        case _:
            return [kind]


def _items(kind: inspect.Type) -> Iterator[str]:
    """A type of a query, which is that of its items where it may be repeated."""
    many = kind.item_type if isinstance(kind, inspect.ListType | inspect.VarTupleType) else None
    if many is None:
        yield _one(kind)
    else:
        yield from map(_one, alternatives(many))


def _described(kind: inspect.Type | None) -> str:
    return "of another form" if kind is None else _joined(map(_one, alternatives(kind)))


def _joined(parts: Iterable[str]) -> str:
    """Alternatives in one phrase, null last."""
    listed = [*dict.fromkeys(parts)]
    return " or ".join(sorted(listed, key=lambda part: part == "null"))


def _one(kind: inspect.Type) -> str:
    """A type in words."""
    match kind:
        case inspect.IntType():
            return "a whole number" + _range(kind)
        case inspect.FloatType():
            return "a number" + _range(kind)
        case inspect.StrType():
            pattern = "" if kind.pattern is None else f" that matches {kind.pattern}"
            return "a text" + _length(kind.min_length, kind.max_length, "characters") + pattern
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "null"
        case inspect.DateTimeType():
            return f"a time with its zone, such as {AT}"
        case inspect.EnumType():
            return _options([option.value for option in kind.cls])
        case inspect.LiteralType():
            return _options(kind.values)
        case inspect.ListType() | inspect.VarTupleType():
            return "a list" + _length(kind.min_length, kind.max_length, "items")
        case inspect.TupleType():
            return f"a list of {len(kind.item_types)} items"
        case inspect.DictType() | inspect.StructType():
            return "an object"
        case _:
            return "any value"


def _options(values: Sequence[Any]) -> str:
    *most, last = [f"`{value}`" for value in values]
    return f"one of {', '.join(most)} and {last}" if most else last


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge:,} to {kind.le:,}"
    words = ((kind.ge, "at least"), (kind.gt, "more than"), (kind.le, "at most"), (kind.lt, "less than"))
    limits = [f"{word} {limit:,}" for limit, word in words if limit is not None]
    return f" of {' and '.join(limits)}" if limits else ""


def _length(least: int | None, most: int | None, unit: str) -> str:
    if most is None:
        return f" of at least {least:,} {unit}" if least else ""
    return f" of {least:,} to {most:,} {unit}" if least else f" of at most {most:,} {unit}"
