"""The body of a request: all of its parts, once, whatever they are divided into."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect, Request

from workbell.http.framework.call import ApiCall
from workbell.model.access import Access


def call_of(messages: list[dict[str, Any]]) -> ApiCall:
    left = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(left)

    unused = cast(Any, None)
    return ApiCall(unused, Request({"type": "http"}, receive), Access(), "default", unused)


def messages_of(parts: list[bytes]) -> list[dict[str, Any]]:
    return [
        {"type": "http.request", "body": part, "more_body": index < len(parts) - 1} for index, part in enumerate(parts)
    ]


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=5))
def test_all_parts_come(parts: list[bytes]) -> None:
    call = call_of(messages_of(parts))
    assert asyncio.run(call.content()) == b"".join(parts)
    assert asyncio.run(call.content()) == b"".join(parts), "it is read once"


def test_a_message_may_lack_its_fields() -> None:
    assert asyncio.run(call_of([{"type": "http.request"}]).content()) == b""


def test_a_caller_that_leaves() -> None:
    call = call_of([{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.disconnect"}])
    with pytest.raises(ClientDisconnect):
        asyncio.run(call.content())
