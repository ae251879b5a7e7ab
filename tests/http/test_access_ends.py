"""Access that ends: streams, long waits, polls of agents and WebSockets do not outlive it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.requests import HTTPConnection
from websockets.exceptions import InvalidStatus

from tests.integration.sockets.raw_client import closed_with
from tests.support.fresh_store import fresh_store
from tests.support.inside.http import COOKIE, access_watch
from tests.support.inside.values import Settings, TokenKind
from tests.support.served import DEADLINE, Served, served
from tests.support.waiting import until
from workbell import Access, Scope, Workbell
from workbell.testing import ManualClock

pytestmark = pytest.mark.anyio


class Hook:
    """The application's own sign-in: who sends the header, until they sign out."""

    def __init__(self) -> None:
        self.access: Access | None = Access(scopes=frozenset({Scope.READ}), actor="ada", user_id=7)
        self.fails = self.hangs = self.hung = False
        self.asked: list[str] = []

    async def __call__(self, connection: HTTPConnection) -> Access | None:
        self.asked.append(connection.url.path)
        if self.fails:
            raise ConnectionError("the application's database is away")
        if self.hangs and "x-user" in connection.headers:
            self.hung = True
            await asyncio.sleep(DEADLINE)
        return self.access if connection.headers.get("x-user") == "ada" else None


ADA = {"X-User": "ada"}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_watch, "RECHECK", 0.05)


@pytest.fixture
def bell(clock: ManualClock) -> Iterator[Workbell]:
    made = Workbell(store=fresh_store(clock), settings=Settings(http_port=0))

    @made.job
    def work() -> None: ...

    yield made
    made.runtime.close()


@pytest.fixture
def hook() -> Hook:
    return Hook()


@pytest.fixture
def server(bell: Workbell, hook: Hook) -> Iterator[Served]:
    with served(bell, hook) as server:
        yield server


@asynccontextmanager
async def http(server: Served, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=DEADLINE, trust_env=False) as client:
        yield client


class Long:
    """A stream, a long wait or a long poll that is under way."""

    def __init__(self, server: Served, asking: Coroutine[Any, Any, tuple[int, bytes]]) -> None:
        self._server = server
        self.task = asyncio.create_task(asking)

    async def begun(self, count: int = 1) -> None:
        """Until the server checks so many."""
        watch = self._server.service.access_watch
        await asyncio.to_thread(until, lambda: self.task.done() or len(watch._open) == count)
        assert not self.task.done(), self.task.result()

    async def answer(self) -> tuple[int, bytes]:
        return await asyncio.wait_for(self.task, DEADLINE)


async def asked(server: Served, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    async with http(server, **headers) as client, client.stream(method, f"/api/v1{path}", json=body) as answer:
        return answer.status_code, await answer.aread()


def stream(server: Served, **headers: str) -> Long:
    run = server.bell.enqueue("work", delay=3600)
    return Long(server, asked(server, "GET", f"/runs/{run.id}/stream", **headers))


def wait(server: Served, **headers: str) -> Long:
    run = server.bell.enqueue("work", delay=3600)
    return Long(server, asked(server, "GET", f"/runs/{run.id}?wait=60", **headers))


LONG = [stream, wait]
Asking = Callable[..., Long]


def check_ended(answer: tuple[int, bytes], reason: str) -> None:
    """A stream has begun, and ends with the reason; what waited is refused."""
    status, body = answer
    assert reason in body.decode()
    assert status == (200 if body.startswith(b"event: run\n") else 401)


@pytest.mark.parametrize("asking", LONG)
@pytest.mark.parametrize("how", ["revoked", "over"])
async def test_it_ends_with_its_token(server: Served, clock: ManualClock, asking: Asking, how: str) -> None:
    token, text = server.bell.tokens.create("gone", expires=3600)
    kept = server.bell.tokens.create("kept").text
    long, other = (asking(server, Authorization=f"Bearer {word}") for word in (text, kept))
    await long.begun(2)
    if how == "revoked":
        server.bell.tokens.revoke(token.id)
    else:
        clock.advance(3600)
    check_ended(await long.answer(), "your token is not valid any more")
    await other.begun()
    other.task.cancel()


@pytest.mark.parametrize("asking", LONG)
async def test_it_ends_with_the_session(server: Served, asking: Asking) -> None:
    async with http(server, Origin=server.url) as browser:
        text = server.bell.tokens.create("eve").text
        assert (await browser.post("/", data={"token": text})).status_code == 303
        [(name, cookie)] = browser.cookies.items()
        long = asking(server, Cookie=f"{name}={cookie}")
        await long.begun()
        assert (await browser.delete("/api/v1/session")).status_code == 204
        check_ended(await long.answer(), "your token is not valid any more")


@pytest.mark.parametrize("asking", LONG)
async def test_it_ends_when_the_hook_says_no(server: Served, hook: Hook, asking: Asking) -> None:
    long = asking(server, **ADA)
    await long.begun()
    hook.access = None
    check_ended(await long.answer(), "you are not signed in any more")


async def test_a_poll_of_an_agent_ends_with_its_token(server: Served) -> None:
    agents = server.bell.agents
    agent, text = agents.pair(agents.pairing("box").text, host="h", version="1")
    body = {"session": "s", "jobs": ["work"], "capacity": 1, "wait": 25}
    long = Long(server, asked(server, "POST", "/agents/self/poll", body, Authorization=f"Bearer {text}"))
    await long.begun()
    [token] = [one for one in server.bell.tokens.list() if one.agent == agent.id]
    server.bell.tokens.revoke(token.id)
    check_ended(await long.answer(), "your token is not valid any more")


# WebSockets: who is let in


async def test_a_socket_with_a_session_a_header_or_the_hook(server: Served) -> None:
    """None of them costs a write: nothing is made for a connection."""
    token, text = server.bell.tokens.create("ada", scopes=["read"], user_id=7)
    session, cookie = server.bell.tokens.create("s", kind=TokenKind.SESSION, user_id=7)
    name = f"{COOKIE}_{server.host.partition(':')[2]}"
    page = {"Origin": server.url}
    before = len(server.bell.store.tokens.list(server.bell.tenant))
    for headers, expected in (
        ({"Authorization": f"Bearer {text}"}, token.id),
        ({"Cookie": f"{name}={cookie}", **page}, session.id),
        ({**ADA, **page}, None),
    ):
        async with server.connect(additional_headers=headers) as talk:
            assert await talk.hear() == {"type": "connected"}
            await talk.subscribe("jobs")
            [connected] = server.service.hub.connections
            assert (connected.access.token, connected.access.user_id) == (expected, 7)
        await asyncio.to_thread(until, lambda: not server.service.hub.connections)
    assert len(server.bell.store.tokens.list(server.bell.tenant)) == before


async def refusal(server: Served, query: str = "", **headers: str) -> int:
    sent = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    } | headers
    async with http(server) as client:
        return (await client.get(f"/ws{query}", headers=sent)).status_code


async def test_who_is_refused_at_the_handshake(server: Served) -> None:
    _, cookie = server.bell.tokens.create("s", kind=TokenKind.SESSION, user_id=7)
    text = server.bell.tokens.create("acme's", tenant="acme").text
    name = f"{COOKIE}_{server.host.partition(':')[2]}"
    assert await refusal(server) == 401
    assert await refusal(server, Authorization="Bearer wb_x") == 401
    assert await refusal(server, Cookie=f"{name}=wb_x") == 401
    assert await refusal(server, Cookie=f"{name}={cookie}", Origin="https://evil.example") == 403
    assert await refusal(server, Origin="https://evil.example", **ADA) == 403
    assert await refusal(server, "?tenant=other", Authorization=f"Bearer {text}") == 404


async def test_the_tenant_of_a_socket(server: Served) -> None:
    everywhere = {"Authorization": f"Bearer {server.bell.tokens.create(tenant='*').text}"}
    run = server.bell.for_tenant("acme").enqueue("work")
    for query, expected in (("", []), ("?tenant=acme", [run.id])):
        async with server.connect(query, additional_headers=everywhere) as talk:
            assert await talk.hear() == {"type": "connected"}
            assert [item["id"] for item in (await talk.subscribe("runs"))["items"]] == expected


async def test_without_tokens_anybody_connects(clock: ManualClock) -> None:
    bell = Workbell(store=fresh_store(clock), settings=Settings(http_port=0, http_auth="none"))
    with served(bell) as server:
        async with server.connect(additional_headers={"Origin": server.url}) as talk:
            assert await talk.hear() == {"type": "connected"}
        assert await refusal(server, Origin="https://evil.example") == 403
        async with http(server) as client:
            made = (await client.post("/api/v1/sockets/tickets")).json()
        async with server.open(made["ticket"]) as talk:
            assert await talk.hear() == {"type": "connected"}
    bell.runtime.close()


# WebSockets: how they end


async def test_a_socket_ends_with_the_session(server: Served) -> None:
    session, cookie = server.bell.tokens.create("s", kind=TokenKind.SESSION, user_id=7)
    headers = {"Cookie": f"{COOKIE}_{server.host.partition(':')[2]}={cookie}"}
    async with server.connect(additional_headers=headers) as talk:
        assert await talk.hear() == {"type": "connected"}
        server.bell.tokens.revoke(session.id)
        await closed_with(talk, 1008)


async def test_a_socket_ends_when_the_hook_says_no(server: Served, hook: Hook) -> None:
    """An error of the hook is not a no: the application's database may be away for a moment."""
    async with server.connect(additional_headers=ADA) as talk:
        assert await talk.hear() == {"type": "connected"}
        assert hook.asked[0] == "/ws"
        hook.fails = True
        count = len(hook.asked)
        await asyncio.to_thread(until, lambda: len(hook.asked) > count + 2)
        await talk.say(type="ping")
        assert await talk.hear() == {"type": "pong"}
        hook.fails, hook.access = False, None
        await closed_with(talk, 1008)


async def test_the_ticket_of_whom_the_hook_let_in(server: Served, hook: Hook) -> None:
    """It is good where the hook knows the handshake too, and for as long as it does."""

    async def ticket() -> str:
        async with http(server, **ADA) as client:
            return str((await client.post("/api/v1/sockets/tickets")).json()["ticket"])

    assert await refusal(server, f"?ticket={await ticket()}") == 403
    async with server.open(await ticket(), additional_headers=ADA) as talk:
        assert await talk.hear() == {"type": "connected"}
        hook.access = None
        await closed_with(talk, 1008)


# What it costs


async def test_one_query_for_all_and_none_for_nobody(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the store is away: then they are checked when it is back."""
    store, rounds = server.bell.store, list[list[str]]()
    with_ids = store.tokens.with_ids

    def counted(ids: list[str]) -> Any:
        rounds.append(list(ids))
        if len(rounds) == 2:
            raise OSError("away")
        return with_ids(ids)

    made = [server.bell.tokens.create(str(number)) for number in range(3)]
    monkeypatch.setattr(store.tokens, "with_ids", counted)
    monkeypatch.setattr(store.tokens, "list", None)  # nobody lists them
    headers = [{"Authorization": f"Bearer {one.text}"} for one in made]
    async with (
        server.connect(additional_headers=headers[0]) as first,
        server.connect(additional_headers=headers[1]) as second,
        server.connect(additional_headers=headers[2]) as third,
    ):
        for talk in (first, second, third):
            assert await talk.hear() == {"type": "connected"}
        everybody = sorted(one.token.id for one in made)
        await asyncio.to_thread(until, lambda: rounds[-2:] == [everybody, everybody] and len(rounds) > 3)
    watch = server.service.access_watch
    await asyncio.to_thread(until, lambda: not watch._checking)
    assert not watch._open


async def test_a_hook_that_hangs_holds_up_nobody_else(server: Served, hook: Hook, monkeypatch: Any) -> None:
    monkeypatch.setattr(access_watch, "PATIENCE", DEADLINE)
    token, text = server.bell.tokens.create("program")
    hanging = wait(server, **ADA)
    await hanging.begun()
    hook.hangs = True
    other = wait(server, Authorization=f"Bearer {text}")
    await other.begun(2)
    await asyncio.to_thread(until, lambda: hook.hung)
    server.bell.tokens.revoke(token.id)
    check_ended(await other.answer(), access_watch.TOKEN_ENDED)
    assert not hanging.task.done()
    hanging.task.cancel()


async def test_a_ticket_is_not_for_another_user_of_the_hook(server: Served, hook: Hook) -> None:
    async with http(server, **ADA) as client:
        ticket = (await client.post("/api/v1/sockets/tickets")).json()["ticket"]
    hook.access = Access(scopes=frozenset({Scope.READ}), actor="eve", user_id=8)
    with pytest.raises(InvalidStatus) as refused:
        async with server.connect(f"?ticket={ticket}", additional_headers=ADA):
            pass
    assert refused.value.response.status_code == 403


async def test_a_wait_ends_when_its_caller_leaves(server: Served) -> None:
    """Else it would be counted among the caller's waits for the rest of its time."""
    leaving = wait(server, Authorization=f"Bearer {server.bell.tokens.create('program').text}")
    await leaving.begun()
    assert len(server.service.opened.waits) == 1
    leaving.task.cancel()
    await asyncio.to_thread(until, lambda: len(server.service.opened.waits) == 0)
