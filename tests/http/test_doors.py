"""Every door of the API: nobody without a token, nobody without the scope, nothing of another tenant (E6).

Made from the table of operations, so that a new one is asked too; without an example in `things.py` it fails.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api, Caller
from tests.http.things import Things, things_of
from tests.support.inside.http import COOKIE, SCREENS, ApiRoutes
from tests.support.inside.values import ROUNDS_SCOPE as ROUNDS
from tests.support.inside.values import SCOPES_ALONE as ALONE
from tests.support.inside.values import SCOPES_INCLUDED as INCLUDED
from tests.support.inside.wire import OPERATIONS, PREFIX, Operation
from workbell import Scope

pytestmark = pytest.mark.anyio

# They need no scope; the metrics, the socket and the pages look at the token themselves.
OUTSIDE = {"/healthz", "/readyz", "/metrics", "/openapi.json", "/api/v1/openapi.json", "/ws", "/", "/docs", "/page.css"}
OUTSIDE |= {"/static/{digest}/{path:path}"}
OUTSIDE |= {path for name in SCREENS for path in (f"/{name}", f"/{name}/{{rest:path}}")}  # one page
# Names that every tenant has for itself: whoever asks for them asks for its own.
OWN_NAMES = {
    ("PUT", "/jobs/{name}"),
    ("POST", "/queues/{name}/pause"),
    ("POST", "/queues/{name}/resume"),
    ("PUT", "/schedules/{name}"),
}
SHARED = {("POST", "/workers/{worker_id}/drain"), ("POST", "/workers/{worker_id}/resume")}  # by all tenants
# A tenant must not raise its own limits, nor take the workers away from the others, nor look at the whole store.
ROOT = {("PUT", "/tenants/{name}"), ("DELETE", "/tenants/{name}"), ("GET", "/doctor")} | SHARED
WRONG = {
    Scope.READ: "enqueue",
    Scope.ENQUEUE: "read",
    Scope.OPERATE: "read",
    Scope.ADMIN: "operate",
    Scope.AGENT: "admin",
    Scope.DISPATCH: "consume",
    Scope.CONSUME: "admin",
}


class Door:
    """An operation, as the tests ask for it."""

    def __init__(self, operation: Operation[Any]) -> None:
        self.operation = operation
        self.scope = operation.scope
        self.method = operation.method
        self.path = PREFIX + operation.path
        self.name = (operation.method, operation.path)

    async def open(self, caller: Caller, things: Things, **headers: str) -> int:
        body = things.body(self.method, self.path)
        options: dict[str, Any] = {} if body is None else {"json": body}
        answer = await caller.send(self.method, things.path(self.path, self.method), headers=headers, **options)
        return answer.status_code


# Those that take something away come last.
DOORS = sorted(map(Door, OPERATIONS), key=lambda door: (door.method == "DELETE", door.path.count("/"), door.path))


@pytest.fixture
def things(api: Api) -> Things:
    return Things(api.bell, "a")


async def test_every_route_is_an_operation_or_named_here(api: Api) -> None:
    [served] = [route for route in api.app.routes if isinstance(route, ApiRoutes)]
    assert {one.operation.name for one in served.served} == {operation.name for operation in OPERATIONS}
    assert {getattr(route, "path", "") for route in api.app.routes if route is not served} <= OUTSIDE


async def test_what_an_operation_may_do_without_a_scope() -> None:
    for operation in OPERATIONS:
        assert operation.open is (operation.path == "/agents/pair")
        changes = operation.method in ("POST", "PUT", "PATCH", "DELETE")
        assert operation.is_audited is (changes and operation.scope in (Scope.OPERATE, Scope.ADMIN))
        if operation.scope is Scope.READ:
            assert not changes or operation.name == "schedules.try_cron"


async def test_the_wrong_scope_is_wrong() -> None:
    assert all(scope not in INCLUDED[Scope(wrong)] for scope, wrong in WRONG.items())
    assert set(WRONG) == set(Scope)


async def test_nobody_without_a_token(api: Api, things: Things) -> None:
    before = things_of(api.a)
    forged = Caller(api.http, f"{api.admin.text}x")
    for door in DOORS:
        if not door.operation.open:
            assert (door.name, await door.open(api.nobody, things)) == (door.name, 401)
    assert (await forged.send("GET", "/runs")).status_code == 401
    assert things_of(api.a) == before


async def test_nobody_with_the_wrong_scope(api: Api, things: Things) -> None:
    callers = {scope: api.caller(word) for scope, word in WRONG.items()}
    none = api.caller()
    before = things_of(api.a)
    for door in DOORS:
        if door.scope is None:
            continue
        for caller in (callers[door.scope], none):
            assert (door.name, await door.open(caller, things)) == (door.name, 403)
    assert things_of(api.a) == before


async def test_nothing_of_another_tenant(api: Api, things: Things) -> None:
    stranger = Caller(api.http, Things(api.bell, "b").agent_token)
    before = things_of(api.a)
    asked = 0
    for door in DOORS:
        if "{" not in door.path or door.name in OWN_NAMES:
            continue
        caller = stranger if door.scope is Scope.AGENT else api.stranger
        assert (door.name, await door.open(caller, things)) == (door.name, 403 if door.name in SHARED else 404)
        asked += 1
    assert asked > 40
    for door in DOORS:  # nor by naming the tenant
        if not door.operation.open and door.scope not in ALONE:
            query = "&tenant=a" if "?" in things.path(door.path, door.method) else "?tenant=a"
            answer = await api.stranger.send(door.method, things.path(door.path, door.method) + query)
            assert (door.name, answer.status_code) == (door.name, 404)
    assert things_of(api.a) == before


async def test_the_right_ones_get_in(api: Api, things: Things) -> None:
    agent = Caller(api.http, things.agent_token)
    callers = {scope: api.caller(scope, tenant="*" if scope in ROUNDS else "a") for scope in Scope}
    callers[Scope.AGENT] = agent
    for door in DOORS:
        if door.operation.open or door.path.endswith("/stream"):
            continue  # a pairing token is needed; and the stream of a run that waits does not end
        caller = api.caller() if door.scope is None else callers[door.scope]
        status = await door.open(api.root if door.name in ROOT else caller, things)
        assert (door.name, status) == (door.name, door.operation.status)
    answer = await api.reader.send("GET", f"/runs/{things.ended.id}/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")


async def test_head_answers_as_get_does_without_a_body(api: Api, things: Things) -> None:
    """Uptime checkers send it. A stream has its headers too, and is not held open."""
    api.bell.tenants.put("a", weight=2)
    callers = {scope: api.caller(scope, tenant="*" if scope in ROUNDS else "a") for scope in Scope}
    callers[Scope.AGENT] = Caller(api.http, things.agent_token)
    for door in DOORS:
        if door.method == "GET":
            caller = api.caller() if door.scope is None else callers[door.scope]
            answer = await (api.root if door.name in ROOT else caller).send("HEAD", things.path(door.path))
            assert (door.name, answer.status_code, answer.content) == (door.name, door.operation.status, b"")
            assert "content-type" in answer.headers
    assert len(api.app.state.service.opened.streams) == 0
    for path in ("/jobs", f"/schedules/{things.examples['schedules', 'name']}"):
        head, get = [await api.admin.send(method, path) for method in ("HEAD", "GET")]
        assert {**head.headers} == {**get.headers}
    tag = get.headers["etag"]
    assert (await api.admin.send("HEAD", path, headers={"If-None-Match": tag})).status_code == 304
    assert (await api.nobody.send("HEAD", "/runs")).status_code == 401
    refused = await api.admin.send("PUT", "/runs")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, POST")
    assert (await api.admin.send("HEAD", "/bulk")).headers["allow"] == "POST"


async def test_a_page_of_another_site_changes_nothing(api: Api, things: Things) -> None:
    browser = Caller(api.http, None)
    cookie = f"{COOKIE}={api.session()}"
    before = things_of(api.a)
    for door in DOORS:
        if door.method == "GET" or door.operation.open:
            continue
        for foreign in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            assert (door.name, await door.open(browser, things, Cookie=cookie, **foreign)) == (door.name, 403)
    assert things_of(api.a) == before
    own = await browser.send("POST", "/queues/q/pause", headers={"Cookie": cookie, "Origin": "http://localhost"})
    assert own.status_code == 200


async def test_a_body_that_is_no_json(api: Api) -> None:
    for body in (b'{"job": ', b"not json"):
        answer = await api.operator.send("POST", "/runs", content=body)
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("body: Invalid JSON"), answer.text


async def test_where_a_body_stops_being_json(api: Api) -> None:
    answer = await api.operator.send(
        "PUT", "/jobs/x", content=b'{"handler": x}', headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert answer.json()["detail"] == "body: Invalid JSON at byte 12: invalid character."
    assert answer.json()["errors"] == [{"where": "body", "what": "Invalid JSON at byte 12: invalid character"}]
