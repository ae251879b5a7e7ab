"""Tokens, tenants and the audit log over HTTP: who may make, see and end what (E6)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import httpx2
import pytest
from starlette.requests import HTTPConnection

from tests.http.conftest import fits
from tests.support.fresh_store import fresh_store
from tests.support.inside.features import NewToken, is_token
from tests.support.inside.http import front, make_app
from tests.support.inside.stores import SqliteStore
from tests.support.inside.values import Settings, TokenKind
from tests.support.inside.wire import AuditShown, ListPage, MadeToken, SelfShown, TenantShown, TokenShown
from workbell import Access, Scope, SettingsError, Workbell
from workbell.testing import ManualClock

pytestmark = pytest.mark.anyio


class Caller:
    """Calls with one token, and checks that each answer has the form that the API page says."""

    def __init__(self, http: httpx2.AsyncClient, text: str) -> None:
        self._http = http
        self.text = text

    async def call(self, method: str, path: str, wanted: int, body: Any = None, key: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.text}"} | ({} if key is None else {"Idempotency-Key": key})
        answer = await self._http.request(method, f"/api/v1{path}", json=body, headers=headers)
        assert answer.status_code == wanted, answer.text
        if wanted >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert self.text not in answer.text
        return answer.json() if answer.content else None

    async def ask(self, path: str, form: Any) -> Any:
        told = await self.call("GET", path, 200)
        fits(form, told)
        return told


class Scene:
    """A service with three callers: an admin of everything, one of a tenant, and somebody who only reads."""

    def __init__(self, bell: Workbell, http: httpx2.AsyncClient) -> None:
        self.bell = bell
        self.http = http
        self.root = self.caller("root", ["admin"], "*")
        self.acme = self.caller("acme's admin", ["admin"], "acme")
        self.reader = self.caller("reader", ["read"], "acme")

    def caller(self, name: str, scopes: Iterable[str], tenant: str | None = None, **more: Any) -> Caller:
        return Caller(self.http, self.bell.tokens.create(name, scopes=scopes, tenant=tenant, **more).text)


@pytest.fixture
async def scene(clock: ManualClock) -> AsyncIterator[Scene]:
    async with opened(clock) as scene:
        yield scene


@asynccontextmanager
async def opened(clock: ManualClock, **settings: Any) -> AsyncIterator[Scene]:
    bell = Workbell(store=fresh_store(clock), settings=Settings(**settings))
    transport = httpx2.ASGITransport(app=bell.asgi())
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        yield Scene(bell, http)
    bell.runtime.close()


async def test_a_token_from_its_making_to_its_end(scene: Scene, clock: ManualClock) -> None:
    asked = {"name": "grafana", "scopes": ["read", "enqueue"], "expires": 60}
    told = await scene.acme.call("POST", "/tokens", 201, asked)
    fits(MadeToken, told)
    text = told.pop("token")
    assert is_token(text)
    assert (told["tenant"], told["scopes"], told["created_by"]) == ("acme", ["read", "enqueue"], "token:acme's admin")
    assert await scene.acme.ask(f"/tokens/{told['id']}", TokenShown) == told
    made = Caller(scene.http, text)
    myself = await made.ask("/tokens/self", SelfShown)
    assert (myself["actor"], myself["tenant"], myself["may"]) == ("grafana", "acme", ["read", "enqueue"])
    assert myself["token"]["id"] == told["id"]
    listed = await scene.acme.ask("/tokens", ListPage[TokenShown])
    assert [one["name"] for one in listed["items"]] == ["acme's admin", "reader", "grafana"]
    revoked = await scene.acme.call("DELETE", f"/tokens/{told['id']}", 200)
    assert revoked["revoked_at"] is not None
    assert revoked["valid"] is False
    await made.call("GET", "/tokens/self", 401)  # at once
    names = [one["name"] for one in (await scene.acme.call("GET", "/tokens", 200))["items"]]
    assert names == ["acme's admin", "reader"]
    assert len((await scene.acme.call("GET", "/tokens?all=true", 200))["items"]) == 3
    assert text not in str([told, listed, revoked, myself])


async def test_nobody_hands_out_more_than_they_have(scene: Scene) -> None:
    for refused in ({"every_tenant": True}, {"scopes": ["agent"]}):
        await scene.acme.call("POST", "/tokens", 403, refused)
    await scene.root.call("POST", "/tokens", 403, {"scopes": ["agent"]})
    await scene.acme.call("POST", "/tokens?tenant=other", 404, {})
    await scene.acme.call("POST", "/tokens", 422, {"tenant": "*"})
    await scene.acme.call("POST", "/tokens", 422, {"scopes": []})
    await scene.acme.call("POST", "/tokens", 422, {"expires": "2020-01-01T00:00:00Z"})
    for wanted in ("/tokens", "/tokens?all=true", "/tenants", "/tenants/acme", "/audit"):
        await scene.reader.call("GET", wanted, 403)
    operator = scene.caller("operator", ["operate"], "acme")
    await operator.call("POST", "/tokens", 403, {"scopes": ["read"]})
    assert (await scene.root.call("POST", "/tokens", 201, {"every_tenant": True}))["tenant"] == "*"
    assert (await scene.root.call("POST", "/tokens?tenant=acme", 201, {"scopes": ["admin"]}))["tenant"] == "acme"
    assert (await scene.acme.call("POST", "/tokens", 201, {"scopes": [], "user_id": 3}))["user_id"] == 3


async def test_whose_tokens_are_seen(scene: Scene) -> None:
    other = scene.bell.tokens.create("other's", tenant="other").token
    [root] = scene.bell.tokens.list(tenant="*")
    for hidden in (other.id, root.id, "x"):
        await scene.acme.call("GET", f"/tokens/{hidden}", 404)
        await scene.acme.call("DELETE", f"/tokens/{hidden}", 404)
    assert scene.bell.tokens.get(other.id, tenant="other").revoked_at is None
    listed = await scene.root.call("GET", "/tokens?tenant=other", 200)
    assert {one["id"] for one in listed["items"]} == {other.id, root.id}
    await scene.root.call("GET", f"/tokens/{root.id}", 200)
    await scene.root.call("GET", f"/tokens/{other.id}", 404)
    await scene.root.call("DELETE", f"/tokens/{other.id}?tenant=other", 200)


async def test_tokens_in_pages(scene: Scene) -> None:
    seen: list[str] = []
    path = "/tokens?limit=2"
    while True:
        page = await scene.root.ask(f"{path}&tenant=acme", ListPage[TokenShown])
        seen += [one["name"] for one in page["items"]]
        if page["next"] is None:
            break
        path = f"/tokens?limit=2&after={page['next']}"
    assert seen == ["root", "acme's admin", "reader"]


async def test_the_same_key_makes_one_token_and_stores_no_text(scene: Scene) -> None:
    first = await scene.acme.call("POST", "/tokens", 201, {"name": "x"}, key="k1")
    again = await scene.acme.call("POST", "/tokens", 201, {"name": "x"}, key="k1")
    assert is_token(first["token"])
    assert again == first | {"token": None}
    assert len(scene.bell.tokens.list(tenant="acme")) == 3
    await scene.acme.call("POST", "/tokens", 409, {"name": "y"}, key="k1")
    store = scene.bell.store
    assert isinstance(store, SqliteStore)
    files = store.file.path.parent.glob(f"{store.file.path.name}*")
    kept = b"".join(path.read_bytes() for path in files)
    assert first["id"].encode() in kept
    assert first["token"].encode() not in kept


async def test_who_am_i_without_a_token(clock: ManualClock) -> None:
    bell = Workbell(store=fresh_store(clock), settings=Settings(http_auth="none"))
    transport = httpx2.ASGITransport(app=make_app(bell._service(listen="127.0.0.1")))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        told = (await http.get("/api/v1/tokens/self")).json()
    fits(SelfShown, told)
    assert told["token"] is None
    assert told["may"] == ["read", "enqueue", "operate", "admin"]
    bell.runtime.close()


async def test_without_tokens_a_mounted_application_lets_in_whom_its_hook_knows(clock: ManualClock) -> None:
    bell = Workbell(store=fresh_store(clock), settings=Settings(http_auth="none"))
    with pytest.raises(SettingsError, match="auth"):
        bell.asgi()
    known = Access(scopes=frozenset({Scope.READ}), actor="ada")
    transport = httpx2.ASGITransport(app=bell.asgi(auth=lambda asked: known if "x-ada" in asked.headers else None))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        assert (await http.get("/api/v1/runs")).status_code == 401
        assert (await http.get("/api/v1/runs", headers={"X-Ada": "1"})).status_code == 200
    bell.runtime.close()


READS = frozenset({Scope.READ})


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Access(scopes=READS, user_id=UUID(int=7)), "user_id: UUID('0000"),  # type: ignore[arg-type]
        (Access(scopes=READS, tenant=7), "tenant"),  # type: ignore[arg-type]
        (Access(scopes=READS, tenant=""), "tenant"),
        (Access(scopes=READS, actor=UUID(int=7)), "got `uuid` - at `$.actor`"),  # type: ignore[arg-type]
        (Access(scopes=None), "Expected `array`, got `null` - at `$.scopes`"),  # type: ignore[arg-type]
        (Access(scopes=frozenset({"reed"})), "enum value 'reed'"),  # type: ignore[arg-type]
        ({"user_id": 7}, "expected an Access or None, got dict"),
    ],
)  # fmt: skip
async def test_an_answer_of_the_hook_that_cannot_be_used_is_no_fault_of_the_caller(
    clock: ManualClock, caplog: pytest.LogCaptureFixture, answer: Any, why: str
) -> None:
    def by_cookie(_connection: HTTPConnection) -> Any:
        return answer

    bell = Workbell(store=fresh_store(clock), settings=Settings())
    transport = httpx2.ASGITransport(app=bell.asgi(auth=by_cookie))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        refused = await http.get("/api/v1/runs")
    assert refused.status_code == 500
    assert "auth hook tests.http.test_access.test_an_answer_of_the_hook" in refused.json()["detail"]
    assert "the server's log says why" in refused.json()["detail"]
    [logged] = [record.getMessage() for record in caplog.records if "auth hook" in record.getMessage()]
    assert "by_cookie: its answer cannot be used: " in logged
    assert why in logged
    bell.runtime.close()


async def test_tenants(scene: Scene) -> None:
    told = await scene.root.call("PUT", "/tenants/acme", 200, {"weight": 3, "concurrency": 5, "rate": "9/s"})
    fits(TenantShown, told)
    changed = await scene.root.call("PUT", "/tenants/acme", 200, {"concurrency": None})
    assert (changed["weight"], changed["concurrency"], changed["rate"]) == (3, None, "9/s")
    scene.bell.tenants.put("other", weight=2)
    everybody = await scene.root.ask("/tenants", ListPage[TenantShown])
    assert [one["name"] for one in everybody["items"]] == ["acme", "other"]
    first = await scene.root.ask("/tenants?limit=1", ListPage[TenantShown])
    second = await scene.root.ask(f"/tenants?limit=1&after={first['next']}", ListPage[TenantShown])
    assert [one["name"] for one in second["items"]] == ["other"]
    rest = await scene.root.ask(f"/tenants?limit=2&after={first['next']}", ListPage[TenantShown])
    assert (len(rest["items"]), rest["next"]) == (1, None)
    await scene.root.call("GET", "/tokens?after=x", 422)
    await scene.root.call("GET", "/tenants/nobody", 404)
    await scene.root.call("DELETE", "/tenants/acme", 204)
    await scene.root.call("DELETE", "/tenants/acme", 404)
    assert (await scene.root.ask("/tenants/acme", TenantShown))["updated_at"] is None
    for wrong in ({"weight": 0}, {"weight": None}, {"rate": "often"}, {"height": 3}):
        await scene.root.call("PUT", "/tenants/acme", 422, wrong)
    await scene.root.call("PUT", "/tenants/*", 422, {})


async def test_a_tenant_cannot_raise_its_own_limits(scene: Scene) -> None:
    scene.bell.tenants.put("acme", concurrency=1)
    scene.bell.tenants.put("other", concurrency=1)
    own = await scene.acme.ask("/tenants", ListPage[TenantShown])
    assert [one["name"] for one in own["items"]] == ["acme"]
    assert (await scene.acme.ask("/tenants/acme", TenantShown))["concurrency"] == 1
    for name, status in (("acme", 403), ("other", 404), ("nobody", 404)):
        await scene.acme.call("PUT", f"/tenants/{name}", status, {"weight": 9})
        await scene.acme.call("DELETE", f"/tenants/{name}", status)
    await scene.acme.call("GET", "/tenants/other", 404)
    assert [tenant.concurrency for tenant in scene.bell.tenants.list()] == [1, 1]


async def test_what_was_done_is_noted(scene: Scene) -> None:
    made = await scene.acme.call("POST", "/tokens", 201, {"name": "x"})
    await scene.acme.call("DELETE", f"/tokens/{made['id']}", 200)
    await scene.acme.call("DELETE", f"/tokens/{made['id'][:-1]}", 404)  # nothing was done
    await scene.root.call("PUT", "/tenants/acme", 200, {"weight": 3})
    await scene.root.call("PUT", "/tenants/other", 200, {"weight": 3})
    told = await scene.acme.ask("/audit", ListPage[AuditShown])
    assert [(one["actor"], one["action"], one["subject"]) for one in told["items"]] == [
        ("token:root", "tenants.put", "acme"),
        ("token:acme's admin", "tokens.revoke", made["id"]),
        ("token:acme's admin", "tokens.create", made["id"]),
    ]
    assert made["token"] not in str(told)
    page = await scene.acme.ask("/audit?limit=1", ListPage[AuditShown])
    following = await scene.acme.ask(f"/audit?limit=2&before={page['next']}", ListPage[AuditShown])
    assert page["items"] + following["items"] == told["items"]
    await scene.acme.call("GET", "/audit?every_tenant=true", 403)
    every = await scene.root.ask("/audit?every_tenant=true", ListPage[AuditShown])
    assert [one["tenant"] for one in every["items"]] == ["other", "acme", "acme", "acme"]
    await scene.acme.call("GET", "/audit?before=x", 422)


async def test_the_log_says_what_a_new_token_may_and_until_when(scene: Scene, clock: ManualClock) -> None:
    """One without an end outlives the session or the token that made it."""
    await scene.acme.call("POST", "/tokens", 201, {"name": "short", "scopes": ["read"], "expires": 60})
    await scene.acme.call("POST", "/tokens", 201, {"name": "long", "scopes": ["admin"]}, key="once")
    long, short = [one["detail"] for one in (await scene.acme.ask("/audit", ListPage[AuditShown]))["items"]]
    assert (long["scopes"], long["expires_at"]) == (["admin"], None)
    end = clock.now() + timedelta(seconds=60)
    assert short["scopes"] == ["read"]
    assert datetime.fromisoformat(short["expires_at"]) == end
    assert short["path"] == "/api/v1/tokens"


async def test_a_token_that_is_over_is_refused(scene: Scene, clock: ManualClock) -> None:
    short = scene.caller("short", ["read"], "acme", expires=5)
    await short.call("GET", "/tokens/self", 200)
    clock.advance(5)
    await short.call("GET", "/tokens/self", 401)
    await Caller(scene.http, short.text[:-1] + "!").call("GET", "/tokens/self", 401)


async def test_nobody_is_kept_busy_by_a_form(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """To take apart all that a body may hold would take seconds, and needs no token."""
    parsed: list[int] = []

    def counted(text: str) -> dict[str, list[str]]:
        parsed.append(len(text))
        return parse_qs(text)

    monkeypatch.setattr(front, "parse_qs", counted)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=scene.bell.asgi()), base_url="http://localhost"
    ) as http:
        form = f"token={scene.reader.text}".encode()
        assert (await http.post("/", content=form)).status_code == 303
        assert (await http.post("/", content=b"a=1&" * 2_000 + form)).status_code == 401
        assert (await http.post("/", content=b"a=1&" * 10_000 + form)).status_code == 413
    assert parsed == [len(form)]


async def test_a_revoked_token_ends_its_sessions_and_nothing_else(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one without a name has made is noted as made by `token <id>` too; and a sign-in may come meanwhile."""
    maker = scene.bell.tokens.create(scopes=["admin"])
    made = await Caller(scene.http, maker.text).call("POST", "/tokens", 201, {"name": "x", "scopes": ["read"]})
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=scene.bell.asgi()), base_url="http://localhost"
    ) as http:
        assert (await http.post("/", data={"token": maker.text})).status_code == 303
        assert (await http.get("/api/v1/tokens/self")).status_code == 200
        create = scene.bell.tokens.create

        def revoked_meanwhile(*args: Any, **settings: Any) -> NewToken:
            scene.bell.tokens.revoke(maker.token.id)
            return create(*args, **settings)

        monkeypatch.setattr(scene.bell.tokens, "create", revoked_meanwhile)
        late = await http.post("/", data={"token": maker.text})
        assert (late.status_code, "set-cookie" in late.headers) == (401, False)
        assert (await http.get("/api/v1/tokens/self")).status_code == 401
    sessions = [one for one in scene.bell.tokens.list() if one.kind is TokenKind.SESSION]
    assert [one.revoked_at is None for one in sessions] == [False, False]
    await Caller(scene.http, made["token"]).call("GET", "/tokens/self", 200)


async def test_the_same_key_and_body_of_somebody_else_is_another_request(scene: Scene) -> None:
    """The stored answer is the first caller's own: another one gets nothing of it."""
    other = scene.caller("another admin", ["admin"], "acme")
    first = await scene.acme.call("POST", "/tokens", 201, {"name": "x"}, key="k1")
    refused = await other.call("POST", "/tokens", 409, {"name": "x"}, key="k1")
    assert refused["type"].endswith(":KeyReused")
    assert first["id"] not in str(refused)


async def test_each_caller_may_ask_so_many_times_a_second(clock: ManualClock) -> None:
    async with opened(clock, http_rate=2) as scene:
        headers = {"Authorization": f"Bearer {scene.reader.text}"}
        answers = [await scene.http.get("/api/v1/jobs", headers=headers) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
        assert answers[-1].headers["retry-after"] == "1"
        assert "may ask 2 times a second" in answers[-1].text
        await scene.acme.call("GET", "/jobs", 200)  # somebody else
        clock.advance(0.5)
        await scene.reader.call("GET", "/jobs", 200)
        await scene.reader.call("GET", "/jobs", 429)
