"""NaN and infinities over HTTP: JSON has none, so a body with one is refused by every route, and nothing is written."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any

import pytest

from tests.http.conftest import Api, Caller
from tests.http.things import BODIES, PREFIX, Things, things_of
from tests.support.inside.wire import openapi

pytestmark = pytest.mark.anyio

MARK = "the number"
JSON = {"Content-Type": "application/json"}
NUMBERS = cycle(("NaN", "1e400", "-Infinity"))


def written(body: Any) -> bytes:
    """A body in which the marks are numbers that JSON lacks."""
    return json.dumps(body).replace(f'"{MARK}"', next(NUMBERS)).encode()


def schema_of(whole: Any, method: str, path: str) -> Any:
    """The fields of a route's body."""
    [content] = [
        found["schema"]
        for kind, found in whole["paths"][PREFIX + path][method.lower()]["requestBody"]["content"].items()
        if kind == "application/json"
    ]
    return whole["components"]["schemas"][content["$ref"].rpartition("/")[2]]["properties"]


async def test_every_field_of_every_body(api: Api) -> None:
    things = Things(api.bell, "a")
    agent = Caller(api.http, things.agent_token)
    callers = {"/consume": api.caller("consume", tenant="*")}
    whole = openapi()
    before, tried = things_of(things.client), 0
    for method, path in BODIES:
        body = things.body(method, path)
        for field in schema_of(whole, method, path):
            for value in (MARK, {"deep": [1, MARK]}, [MARK]):
                sent = written(body | {field: value})
                caller = agent if path.startswith("/agents/self") else callers.get(path, api.admin)
                answer = await caller.send(
                    method,
                    things.path(PREFIX + path, method),
                    content=sent,
                    headers={"Content-Type": "application/json"},
                )
                assert answer.status_code == 422, (method, path, sent, answer.text)
                tried += 1
    assert tried > 200
    assert things_of(things.client) == before


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
async def test_under_an_idempotency_key_nothing_is_made(api: Api, number: str) -> None:
    for path, body in (
        ("/runs", '{"job": "send", "input": {"to": "x", "urgent": %s}}'),
        ("/runs/batch", '{"runs": [{"job": "rest"}, {"job": "send", "input": {"to": "x", "urgent": %s}}]}'),
        ("/events", '{"type": "a.b", "data": %s}'),
        ("/events/batch", '{"events": [{"type": "a.b"}, {"type": "a.b", "data": [%s]}]}'),
    ):
        headers = {"Content-Type": "application/json", "Idempotency-Key": "once"}
        answer = await api.admin.send("POST", path, content=(body % number).encode(), headers=headers)
        assert answer.status_code == 422, answer.text
        assert "which JSON cannot carry" in answer.json()["detail"]
    assert api.a.runs() == []
    assert api.a.events.list() == []
