"""Parsing of requests: what fits is read, and what does not is refused with the place and what it must be, in plain
words that never repeat what was sent."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from workbell.errors import InvalidOption
from workbell.http.framework.parsing import parse_body, parse_query
from workbell.http.framework.problems import InvalidRequest
from workbell.wire.fields import Limit, Name, Seconds, User, When
from workbell.wire.operation import Query, RequestBody
from workbell.wire.table import OPERATIONS

SECRET = "hunter2hunter2"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(RequestBody, frozen=True, kw_only=True):
    size: Annotated[int, Meta(ge=1, le=5)] = 1
    colour: Colour | None = None


class Body(RequestBody, frozen=True, kw_only=True):
    name: Name
    note: Annotated[str, Meta(max_length=3)] | None = None
    code: Annotated[str, Meta(pattern="^[a-z]+$")] = "a"
    count: Annotated[int, Meta(ge=1)] = 1
    rate: Annotated[float, Meta(gt=0, lt=2)] = 1.0
    loud: bool = False
    at: When | None = None
    expires: Seconds | When | None = None
    user: User | None = None
    parts: Annotated[list[Part], Meta(min_length=1, max_length=2)] | None = None
    by_name: dict[str, Part] = msgspec.field(default_factory=dict)
    labels: dict[Annotated[str, Meta(max_length=3)], str] = msgspec.field(default_factory=dict)
    window: tuple[str, str] | None = None
    way: Literal["in", "out"] | None = None
    input: dict[str, Any] = msgspec.field(default_factory=dict)


class Asked(Query, frozen=True, kw_only=True):
    limit: Limit = 100
    wait: Annotated[float, Meta(ge=0, le=60)] = 0
    colour: list[Colour] = msgspec.field(default_factory=list)
    queue: Annotated[list[Name], Meta(max_length=2)] = msgspec.field(default_factory=list)
    full: bool = False
    quiet: Annotated[bool | None, Meta(description="Or not.")] = None
    name: Name | None = None
    user: User | None = None
    since: When | None = None


class Needed(Query, frozen=True, kw_only=True):
    kind: Name


def refused(body: Any) -> tuple[str, str]:
    content = body if isinstance(body, bytes) else json.dumps({"name": "x"} | body).encode()
    with pytest.raises(InvalidRequest) as raised:
        parse_body(Body, content)
    return raised.value.where, raised.value.what


@pytest.mark.parametrize(
    ("body", "where", "what"),
    [
        ({"name": ""}, "name", "it must be a text of 1 to 200 characters"),
        ({"name": None}, "name", "it must be a text of 1 to 200 characters, not null"),
        ({"note": "long"}, "note", "it must be a text of at most 3 characters or null"),
        ({"code": SECRET}, "code", "it must be a text that matches ^[a-z]+$"),
        ({"count": 0}, "count", "it must be a whole number of at least 1"),
        ({"count": 1.5}, "count", "it must be a whole number of at least 1, not a number"),
        ({"count": SECRET}, "count", "it must be a whole number of at least 1, not a text"),
        ({"rate": 2}, "rate", "it must be a number of more than 0 and less than 2"),
        ({"loud": 1}, "loud", "it must be true or false, not a whole number"),
        ({"at": SECRET}, "at", "it must be a time with its zone, such as 2026-11-16T09:00:00Z or null"),
        (
            {"expires": -1},
            "expires",
            "it must be a number from 0 to 10,000,000,000 or a time with its zone, such as 2026-11-16T09:00:00Z "
            "or null",
        ),
        (
            {"user": []},
            "user",
            "it must be a whole number from 0 to 9,223,372,036,854,775,807 or a text of 1 to 200 characters or null, "
            "not a list",
        ),
        ({"parts": []}, "parts", "it must be a list of 1 to 2 items or null"),
        ({"parts": [{}, {"size": 9}]}, "parts.1.size", "it must be a whole number from 1 to 5"),
        ({"parts": [{"colour": SECRET}]}, "parts.0.colour", "it must be one of `red` and `blue` or null"),
        (
            {"parts": [{"colour": 1}]},
            "parts.0.colour",
            "it must be one of `red` and `blue` or null, not a whole number",
        ),
        ({"by_name": {SECRET: {"colour": "x"}}}, "by_name.colour", "it must be one of `red` and `blue` or null"),
        ({"labels": {SECRET: "x"}}, "labels", "a key must be a text of at most 3 characters"),
        ({"window": ["a"]}, "window", "it must be a list of 2 items or null"),
        ({"window": ["a", 1]}, "window.1", "it must be a text, not a whole number"),
        ({"way": SECRET}, "way", "it must be one of `in` and `out` or null"),
        ({"input": []}, "input", "it must be an object, not a list"),
        (
            {"zebra": 1},
            "zebra",
            "this server has no such field; it is misspelt, or the server is older than the client",
        ),
        ({"nmae": 1}, "nmae", "there is no such field; did you mean name?"),
        ({"parts": [{"color": "red"}]}, "parts.0.color", "there is no such field; did you mean colour?"),
        ({"parts": [{"a` - at `$.b": 1}]}, "parts.0.a` - at `$.b", None),
        (b"{}", "name", "the field is missing"),
        (
            b'{"name": "x", "rate": 1e400}',
            "rate",
            "it is infinite or out of range, which JSON cannot carry; leave it out, or send null or a text",
        ),
    ],
)
def test_a_field_that_does_not_fit(body: Any, where: str, what: str | None) -> None:
    found = refused(body)
    assert found[0] == f"body.{where}"
    assert what is None or found[1] == what


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"[]", "it must be an object, not a list"),
        (b'{"name": ', "Invalid JSON: it ends within a value, or a text has half of a surrogate pair"),
        (b'{"name": "\\ud800"}', "Invalid JSON: it ends within a value, or a text has half of a surrogate pair"),
        (b'{"name": x}', "Invalid JSON at byte 9: invalid character"),
        (b'{"name": "\xff"}', "Invalid JSON: a text is not UTF-8"),
        (b'{"input": {"a": ' + b"[" * 100_000, "Invalid JSON: it is nested too deeply"),
        *(
            (
                f'{{"count": {number}}}'.encode(),
                f"Invalid JSON at byte {at}: {number} is a number which JSON cannot carry; "
                "leave it out, or send null or a text",
            )
            for number, at in (("NaN", 10), ("Infinity", 10), ("-Infinity", 11))
        ),
    ],
)
def test_a_body_that_is_no_json(content: bytes, what: str) -> None:
    assert refused(content) == ("body", what)


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        (("limit", "0"), "it must be a whole number from 1 to 1,000"),
        (("limit", SECRET), "it must be a whole number from 1 to 1,000"),
        (("limit", "null"), "it must be a whole number from 1 to 1,000"),
        (("wait", "nan"), "it must be a number from 0 to 60"),
        (("wait", "inf"), "it must be a number from 0 to 60"),
        (("wait", "1e400"), "it must be a number from 0 to 60"),
        (("colour", SECRET), "it must be one of `red` and `blue`"),
        (("full", SECRET), "it must be true or false"),
        (("quiet", "null"), "it must be true or false"),
        (("name", ""), "it must be a text of 1 to 200 characters"),
        (("since", "today"), "it must be a time with its zone, such as 2026-11-16T09:00:00Z"),
        (("since", "2026-01-01T00:00:00"), "it must be a time with its zone, such as 2026-11-16T09:00:00Z"),
    ],
)
def test_a_parameter_that_does_not_fit(sent: tuple[str, str], what: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_query(Asked, [sent])
    assert (raised.value.where, raised.value.what) == (f"query.{sent[0]}", what)


def test_a_parameter_that_is_sent_too_often() -> None:
    assert parse_query(Asked, [("queue", "a"), ("queue", "b")]).queue == ["a", "b"]
    for last in ("c", ""):
        with pytest.raises(InvalidRequest) as raised:
            parse_query(Asked, [("queue", "a"), ("queue", "b"), ("queue", last)])
        assert (raised.value.where, raised.value.what) == ("query.queue", "it may be sent at most 2 times, not 3")
    with pytest.raises(InvalidRequest, match="it must be a text of 1 to 200 characters"):
        parse_query(Asked, [("queue", "a"), ("queue", "")])


def test_a_parameter_that_is_missing_or_unknown() -> None:
    with pytest.raises(InvalidRequest, match=r"query\.kind: the parameter is missing"):
        parse_query(Needed, [])
    with pytest.raises(InvalidOption, match="Unknown query parameter 'knd'; did you mean kind="):
        parse_query(Needed, [("knd", "x")])


NAMES = st.text(min_size=1, max_size=200)
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.integers(1, 1000),
        "wait": st.floats(0, 60),
        "colour": st.lists(st.sampled_from(Colour), min_size=1, max_size=3),
        "full": st.booleans(),
        "quiet": st.booleans(),
        "name": NAMES,
        "user": NAMES,
        "since": st.datetimes(timezones=st.just(UTC)),
    },
)


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)


@given(QUERIES)
def test_a_query_is_read_as_it_was_meant(wanted: dict[str, Any]) -> None:
    sent = [
        (name, text_of(one))
        for name, value in wanted.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    assert parse_query(Asked, sent) == Asked(**wanted)


@given(st.lists(st.tuples(st.sampled_from([*Asked.__struct_fields__, "tenant", "after", "x"]), st.text()), max_size=5))
def test_a_query_is_read_or_refused(sent: list[tuple[str, str]]) -> None:
    try:
        found = parse_query(Asked, sent)
    except (InvalidRequest, InvalidOption):
        return
    assert msgspec.convert(msgspec.to_builtins(found), Asked) == found, "what was read is within the limits"


def error_of(kind: type[msgspec.Struct], value: Any) -> InvalidRequest | None:
    try:
        parse_body(kind, json.dumps(value).encode())
    except InvalidRequest as error:
        return error
    return None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.sampled_from(Body.__struct_fields__) | st.text(), JSON, max_size=5)


@given(FIELDS | JSON)
def test_a_body_is_read_or_refused_in_plain_words(value: Any) -> None:
    error = error_of(Body, value)
    if error is not None:
        assert error.where.split(".")[0] == "body"
        assert not any(word in error.what for word in ("Expected", "Invalid enum", "Object", "None"))


BODIES = [operation.body for operation in OPERATIONS if operation.body is not None]


@given(st.sampled_from(BODIES), st.data())
def test_no_value_is_repeated(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(kind.__struct_encode_fields__))
    value = data.draw(st.sampled_from([SECRET, [SECRET], {"x": SECRET}, [{"x": SECRET}], [[SECRET]]]))
    assert SECRET not in str(error_of(kind, {field: value}))
