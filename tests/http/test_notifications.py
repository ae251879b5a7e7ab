"""Notifications over HTTP: telling people, and reading one's own (B5)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.http.conftest import fits
from tests.support.fresh_store import fresh_store
from tests.support.inside.values import Settings
from tests.support.inside.wire import ListPage, NotificationShown
from workbell import Workbell

pytestmark = pytest.mark.anyio


class Person:
    """Somebody with a token."""

    def __init__(self, http: httpx2.AsyncClient, text: str) -> None:
        self._http = http
        self._headers = {"Authorization": f"Bearer {text}"}

    async def ask(self, method: str, path: str, wanted: int, body: Any = None, **headers: str) -> Any:
        answer = await self._http.request(
            method, f"/api/v1/notifications{path}", json=body, headers=self._headers | headers
        )
        assert answer.status_code == wanted, answer.text
        return answer.json()

    async def listed(self, query: str = "") -> list[Any]:
        told = await self.ask("GET", query, 200)
        fits(ListPage[NotificationShown], told)
        return [one["data"] for one in told["items"]]


class Scene:
    def __init__(self, bell: Workbell, http: httpx2.AsyncClient) -> None:
        self.bell = bell
        self._http = http
        self.operator = self.person(["operate"], None)
        self.ada = self.person([], 7)
        self.bob = self.person(["read"], 8)

    def person(self, scopes: list[str], user_id: int | str | None, **more: Any) -> Person:
        return Person(self._http, self.bell.tokens.create(scopes=scopes, user_id=user_id, **more).text)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    bell = Workbell(store=fresh_store(), settings=Settings())
    app = bell.asgi()
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost", trust_env=False) as http,
    ):
        yield Scene(bell, http)
    bell.runtime.close()


async def test_notifying_and_reading(scene: Scene) -> None:
    mine = await scene.operator.ask("POST", "", 201, {"user_id": 7, "data": {"text": "ready"}})
    fits(NotificationShown, mine)
    assert (mine["user_id"], mine["data"], mine["read"]) == (7, {"text": "ready"}, False)
    everybody = await scene.operator.ask("POST", "", 201, {"everybody": True, "data": "tea"})
    assert everybody["user_id"] is None
    assert await scene.ada.listed() == ["tea", {"text": "ready"}]
    assert await scene.bob.listed() == ["tea"]
    assert await scene.ada.ask("POST", "/read", 200, {"ids": [everybody["id"], mine["id"], "nonsense"]}) == {"read": 2}
    assert await scene.ada.listed("?unread=true") == []
    assert await scene.bob.listed("?unread=true") == ["tea"]
    assert await scene.bob.ask("POST", "/read", 200, {"all": True}) == {"read": 1}


async def test_a_person_with_a_text_for_an_id(scene: Scene) -> None:
    user = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"
    eve = scene.person([], user)
    told = await scene.operator.ask("POST", "", 201, {"user_id": user, "data": 1})
    assert told["user_id"] == user
    assert (await eve.listed(), await scene.ada.listed()) == ([1], [])
    await scene.operator.ask("POST", "", 422, {"user_id": True, "data": 1})  # it is no 1
    told = await scene.operator.ask("POST", "", 201, {"user_id": "7", "data": 2})
    assert (told["user_id"], await scene.ada.listed()) == (7, [2])


async def test_pages(scene: Scene) -> None:
    for number in range(3):
        scene.bell.notify(7, number)
    page = await scene.ada.ask("GET", "?limit=2", 200)
    assert [one["data"] for one in page["items"]] == [2, 1]
    last = await scene.ada.ask("GET", f"?limit=2&before={page['next']}", 200)
    assert ([one["data"] for one in last["items"]], last["next"]) == ([0], None)


async def test_the_same_key_tells_once(scene: Scene) -> None:
    body = {"user_id": 7, "data": 1}
    first = await scene.operator.ask("POST", "", 201, body, **{"Idempotency-Key": "k1"})
    assert await scene.operator.ask("POST", "", 201, body, **{"Idempotency-Key": "k1"}) == first
    assert await scene.ada.listed() == [1]


async def test_who_may_not(scene: Scene) -> None:
    stranger = scene.person(["operate"], 7, tenant="other")
    scene.bell.notify(7, 1)
    assert await stranger.listed() == []
    assert await stranger.ask("POST", "/read", 200, {"all": True}) == {"read": 0}
    await scene.bob.ask("POST", "", 403, {"user_id": 7, "data": 1})
    for method, path, body in (("GET", "", None), ("POST", "/read", {"all": True})):
        refused = await scene.operator.ask(method, path, 403, body)
        assert "belongs to no person" in refused["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", {"data": 1}),
        ("", {"data": 1, "everybody": True, "user_id": 7}),
        ("", {"user_id": 7}),
        ("", {"user_id": -1, "data": 1}),
        ("", {"user_id": 7, "data": "x" * 300_000}),
        ("/read", {}),
        ("/read", {"all": True, "ids": []}),
        ("/read", {"ids": "x"}),
    ],
)
async def test_what_is_refused(scene: Scene, path: str, body: Any) -> None:
    person = scene.operator if path == "" else scene.ada
    refused = await person.ask("POST", path, 422, body)
    assert refused["status"] == 422
    assert scene.bell.notifications.list(7) == []
