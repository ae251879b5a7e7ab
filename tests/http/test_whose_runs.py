"""Whose runs a caller makes: those of its own person, whatever the request says; operators may name another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.json import schema as json_schema
from starlette.requests import HTTPConnection

from tests.http.conftest import Caller, make_bell, opened
from tests.support.inside.values import new_id
from tests.support.inside.wire import OPERATIONS
from tests.support.served import served
from workbell import Access, Client, Forbidden, Scope

pytestmark = pytest.mark.anyio

RUN: dict[str, Any] = {"job": "send", "input": {"to": "x"}}
PEOPLE = {
    "bob": Access(scopes=frozenset({Scope.READ, Scope.ENQUEUE}), actor="bob", user_id=2),
    "ada": Access(scopes=frozenset({Scope.READ, Scope.ENQUEUE}), actor="ada", user_id=1),
    "cy": Access(scopes=frozenset({Scope.READ, Scope.ENQUEUE}), user_id="c-3"),
    "boss": Access(scopes=frozenset({Scope.OPERATE}), actor="boss", user_id=5),
    "cron": Access(scopes=frozenset({Scope.READ, Scope.ENQUEUE}), actor="cron"),
    "system": Access(scopes=frozenset({Scope.READ, Scope.ENQUEUE}), actor="system", user_id=0),
}


def by_name(connection: HTTPConnection) -> Access | None:
    return PEOPLE.get(connection.headers.get("x-shop-user", ""))


class Person(Caller):
    """Somebody whom the application's own sign-in knows."""

    def __init__(self, http: httpx2.AsyncClient, name: str) -> None:
        super().__init__(http, None)
        self.name = name

    async def send(self, method: str, path: str, **options: Any) -> httpx2.Response:
        options["headers"] = {"X-Shop-User": self.name} | options.get("headers", {})
        return await super().send(method, path, **options)

    async def makes(self, **more: Any) -> int | str:
        """Whose run they get."""
        made = await self.ask("POST", "/runs?full=true", 201, RUN | more)
        found: int | str = made["user_id"]
        return found


class Shop:
    """A mounted application with people."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.bob, self.ada, self.cy, self.boss, self.cron, self.system = (Person(http, name) for name in PEOPLE)


@asynccontextmanager
async def mounted(url: str, folder: Path) -> AsyncIterator[Shop]:
    bell = make_bell(url, folder)
    app = bell.asgi(auth=by_name)
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        yield Shop(http)
    bell.runtime.close()
    bell.store.close()


@pytest.fixture
async def shop(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Shop]:
    async with mounted(sqlite_url, tmp_path) as shop:
        yield shop


async def test_a_run_belongs_to_the_person_who_asks_for_it(shop: Shop) -> None:
    assert [await shop.bob.makes(), await shop.bob.makes(user_id=None), await shop.bob.makes(user_id="2")] == [2, 2, 2]
    assert [await shop.cy.makes(), await shop.cy.makes(user_id="c-3")] == ["c-3", "c-3"]
    made = await shop.bob.ask("POST", "/runs/batch?full=true", 201, {"runs": [RUN, RUN | {"user_id": 2}]})
    assert [one["user_id"] for one in made["items"]] == [2, 2]


@pytest.mark.parametrize("other", [1, 0, "c-3"])
async def test_nobody_makes_runs_in_the_name_of_another(shop: Shop, other: int | str) -> None:
    problem = await shop.bob.ask("POST", "/runs", 403, RUN | {"user_id": other})
    assert problem["detail"] == (
        f"user_id: {other!r} is somebody else, and this caller is 2; leave it out, or use a caller with the scope "
        "operate."
    )
    batch = {"runs": [RUN, RUN | {"user_id": other}]}
    await shop.bob.ask("POST", "/runs/batch", 403, batch)
    await shop.bob.ask("POST", "/runs/batch", 403, batch, key="once")
    await shop.bob.ask("POST", "/runs", 403, RUN | {"user_id": other, "id": new_id()})
    assert (await shop.boss.ask("GET", "/runs"))["items"] == []  # nothing was half written


async def test_an_operator_may_name_another_person(shop: Shop) -> None:
    assert [await shop.boss.makes(user_id=1), await shop.boss.makes(user_id=0), await shop.boss.makes()] == [1, 0, 5]


async def test_a_caller_that_is_no_person_names_whom_it_likes(shop: Shop) -> None:
    assert [await shop.cron.makes(), await shop.cron.makes(user_id=1)] == [0, 1]


async def test_the_system_is_no_person_and_acts_for_none(shop: Shop) -> None:
    assert [await shop.system.makes(), await shop.system.makes(user_id=0)] == [0, 0]
    await shop.system.ask("POST", "/runs", 403, RUN | {"user_id": 1})


async def test_the_person_comes_before_the_default_of_a_definition(shop: Shop) -> None:
    await shop.boss.ask("PUT", "/jobs/theirs", 200, {"handler": "send", "user_id": 9})
    made = {"job": "theirs"}
    assert [await shop.bob.makes(**made), await shop.cron.makes(**made), await shop.system.makes(**made)] == [2, 9, 9]


async def test_what_an_operator_sets_up_is_its_own_unless_it_says_otherwise(shop: Shop) -> None:
    for path, body in (("/jobs/mine", {"handler": "send"}), ("/schedules/mine", {"job": "rest", "every": 60})):
        assert (await shop.boss.ask("PUT", path, 200, body))["user_id"] == 5
        assert (await shop.boss.ask("PUT", path, 200, body | {"user_id": 1}))["user_id"] == 1
    trigger = {"event_pattern": "a.*", "processor_name": "count"}
    assert (await shop.boss.ask("POST", "/triggers", 201, trigger | {"name": "t1"}))["user_id"] == 5
    made = await shop.boss.ask("POST", "/triggers", 201, trigger | {"name": "t2", "user_id": 1})
    assert made["user_id"] == 1
    for path in ("/schedules/mine", f"/triggers/{made['id']}"):  # a change changes what it names
        assert (await shop.boss.ask("PATCH", path, 200, {"priority": 3}))["user_id"] == 1


async def test_what_is_nobodys_stays_so_when_it_is_sent_back_as_it_was_read(shop: Shop) -> None:
    for path, body in (("/jobs/nightly", {"handler": "send"}), ("/schedules/nightly", {"job": "rest", "every": 60})):
        await shop.boss.ask("PUT", path, 200, body | {"user_id": None})
        read = await shop.boss.ask("GET", path, 200)
        assert read["user_id"] is None
        assert (await shop.boss.ask("PUT", path, 200, read))["user_id"] is None
    trigger = {"name": "t", "event_pattern": "a.*", "processor_name": "count", "user_id": None}
    made = await shop.boss.ask("POST", "/triggers", 201, trigger)
    assert made["user_id"] is None
    path = f"/triggers/{made['id']}"
    assert (await shop.boss.ask("PATCH", path, 200, await shop.boss.ask("GET", path)))["user_id"] is None


async def test_a_retry_stays_with_the_person_of_the_run(shop: Shop) -> None:
    made = await shop.ada.ask("POST", "/runs", 201, RUN | {"delay": 60})
    await shop.boss.ask("POST", f"/runs/{made['id']}/cancel", 200, {})
    assert (await shop.boss.ask("POST", f"/runs/{made['id']}/retry", 201))["user_id"] == 1


async def test_a_key_of_another_person_answers_no_run_of_theirs(shop: Shop) -> None:
    first = await shop.ada.ask("POST", "/runs", 201, RUN, key="once")
    assert await shop.ada.ask("POST", "/runs", 201, RUN, key="once") == first
    problem = await shop.bob.ask("POST", "/runs", 409, RUN, key="once")
    assert problem["type"] == "urn:workbell:error:KeyReused"
    chosen = RUN | {"id": new_id()}
    await shop.ada.ask("POST", "/runs", 201, chosen)
    assert (await shop.bob.ask("POST", "/runs", 409, chosen))["type"] == "urn:workbell:error:KeyReused"
    own = RUN | {"key": "k"}  # with a key of its own the whole answer is what is stored
    await shop.cy.ask("POST", "/runs", 201, own, key="stored")
    assert (await shop.bob.ask("POST", "/runs", 409, own, key="stored"))["type"] == "urn:workbell:error:KeyReused"


async def test_tokens_and_sessions_of_a_person(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, tmp_path) as api:
        await api.maker.ask("POST", "/runs", 403, RUN | {"user_id": 1})
        made = await api.maker.ask("POST", "/runs", 201, RUN)
        assert api.a.get(made["id"]).user_id == 7
        text = api.bell.tokens.create("bob", scopes=["read", "enqueue"], tenant="a", user_id=2).text
        signed_in = await api.http.post("/", data={"token": text}, headers={"Origin": "http://localhost"})
        assert signed_in.status_code == 303
        asked = {"json": RUN | {"user_id": 1}, "headers": {"Origin": "http://localhost"}}
        assert (await api.http.post("/api/v1/runs", **asked)).status_code == 403  # type: ignore[arg-type]
        asked["json"] = RUN
        whole = await api.http.post("/api/v1/runs?full=true", **asked)  # type: ignore[arg-type]
        assert whole.json()["user_id"] == 2


def test_a_client_of_a_person(sqlite_url: str, tmp_path: Path) -> None:
    bell = make_bell(sqlite_url, tmp_path)
    token = bell.tokens.create("bob", scopes=["read", "enqueue"], user_id=2).text
    with served(bell) as server, Client(server.url, token) as client:
        assert bell.get(client.enqueue("send", {"to": "x"}).id).user_id == 2
        with pytest.raises(Forbidden, match="user_id: 1 is somebody else"):
            client.enqueue("send", {"to": "x"}, user_id=1)
        with pytest.raises(Forbidden, match="user_id: 1 is somebody else"):
            client.enqueue_many([client.request("send", {"to": "x"}, user_id=1)])
        assert client.count_runs().count == 1
    bell.runtime.close()
    bell.store.close()


MADE_FOR_SOMEBODY = {"runs.enqueue", "runs.enqueue_batch", "schedules.put", "triggers.add", "jobs.put"}
FOR_OPERATORS = {
    "jobs.change",
    "schedules.change",
    "triggers.change",
    "notifications.tell",
    "tokens.create",
    "bulk.act",
}


def test_every_operation_that_takes_a_user_id_is_known_here() -> None:
    """A new one is either of those above, which take it from the caller, or for operators, who may name anybody."""
    found = {one.name: one for one in OPERATIONS if one.body is not None and "user_id" in str(json_schema(one.body))}
    assert found.keys() == MADE_FOR_SOMEBODY | FOR_OPERATORS
    assert all(found[name].scope in (Scope.OPERATE, Scope.ADMIN) for name in FOR_OPERATORS)
