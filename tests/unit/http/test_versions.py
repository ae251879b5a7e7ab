"""Versioned operations: their handlers get the request's condition, which compares all that a caller may name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from starlette.requests import Request

from workbell.errors import PreconditionFailed
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.problems import InvalidRequest
from workbell.http.framework.versions import Precondition, etag_of
from workbell.wire import triggers

ETAG = etag_of(["a", 1])


def condition(read_only: dict[str, Any] | None = None, **headers: str) -> Precondition:
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    shown = {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in (read_only or {}).items()}
    return Precondition(Request({"type": "http", "headers": sent}), shown)


def test_a_handler_that_compares_no_version_is_refused() -> None:
    async def delete(call: ApiCall, name_or_id: str) -> None: ...

    with pytest.raises(TypeError, match=r"triggers.delete: its handler takes .* and there is \['condition'"):
        Served()(triggers.delete)(delete)


@pytest.mark.parametrize(
    ("headers", "etag", "is_refused"),
    [
        ({}, ETAG, False),
        ({"if_match": ETAG}, ETAG, False),
        ({"if_match": f'"x", W/{ETAG}'}, ETAG, False),
        ({"if_match": "*"}, ETAG, False),
        ({"if_match": '"x"'}, ETAG, True),
        ({"if_match": "*"}, None, True),
        ({"if_none_match": "*"}, None, False),
        ({"if_none_match": "*"}, ETAG, True),
    ],
)
def test_what_a_condition_refuses(headers: dict[str, str], etag: str | None, is_refused: bool) -> None:
    found = condition(**headers)
    assert found.expected(7) == (7 if headers else None), "the store compares only what was asked for"
    assert found.is_empty is not bool(headers)
    if is_refused:
        with pytest.raises(PreconditionFailed):
            found.check(etag)
    else:
        found.check(etag)


def test_a_field_that_only_shows_the_thing_is_compared_too() -> None:
    found = condition({"id": "a"})
    assert not found.is_empty
    assert found.expected(7) is None
    found.check(ETAG, id="a")
    with pytest.raises(InvalidRequest, match=r"body\.id: it is read-only, and here it is \"b\""):
        found.check(ETAG, id="b")
