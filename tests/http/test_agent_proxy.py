"""An agent behind a proxy that answers by itself, and with a server of another version: nothing ends, nothing is done
twice (E7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from tests.http.test_agents import ended, opened, until, working
from tests.support.fresh_store import fresh_store
from tests.support.inside.remote import AgentHeartbeat, HeldRun, RemoteCall
from tests.support.inside.wire import LeasesShown
from workbell import Context, Status, Unauthorized, Workbell

pytestmark = pytest.mark.anyio

HTML = {"content-type": "text/html"}
JSON = {"content-type": "application/json"}
PROBLEM = {"content-type": "application/problem+json"}
REFUSED = b'{"type":"urn:workbell:error:InvalidRequest","detail":"capacity: too small."}'

ANSWERS = [
    (302, {"location": "https://login.example.com/"}, b""),
    (401, HTML, b"<h1>Sign in</h1>"),
    (403, HTML, b"<h1>Blocked</h1>"),
    (404, HTML, b"<h1>Not Found</h1>"),
    (404, JSON, b'{"type":"urn:workbell:error:RunNotFound"}'),
    (404, PROBLEM, b'{"type":"about:blank","title":"Not Found"}'),
    (404, PROBLEM, b'{"type":"urn:workbell:error:NotFound","detail":"There is nothing here."}'),
    (409, HTML, b""),
    (429, PROBLEM, REFUSED),
    (503, PROBLEM, REFUSED),
    (413, HTML, b""),
    (200, HTML, b"<h1>Welcome to the hotel</h1>"),
    (200, JSON, b'{"status":"ok"}'),
    (200, JSON, b'{"runs":"none","taken":"yes"}'),
    (200, JSON, b'{"runs":' + b"[" * 100_000),
    (200, JSON, b""),
    (404, PROBLEM, b'{"type":"urn:workbell:error:RunNotFound","detail":"\xff"}'),
    (404, PROBLEM, b'{"new":' + b"[" * 100_000),
]


class Proxy(httpx2.ASGITransport):
    """Passes on, except what it answers by itself: posts to paths that end so, as often as it is told."""

    def __init__(self, app: Any) -> None:
        super().__init__(app=app)
        self.answer: tuple[int, dict[str, str], bytes] = ANSWERS[0]
        self.left: dict[str, int] = {}
        self.answered = 0
        self.changed: Callable[[Any], Any] = lambda value: value

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        end = request.url.path.rpartition("/")[2]
        if self.left.get(end, 0) > 0:
            self.left[end] -= 1
            self.answered += 1
            status, headers, content = self.answer
            return httpx2.Response(status, headers=headers, content=content)
        response = await super().handle_async_request(request)
        content = await response.aread()
        if response.status_code == 200:
            content = msgspec.json.encode(self.changed(msgspec.json.decode(content)))
        headers = {"content-type": response.headers.get("content-type", "")}
        return httpx2.Response(response.status_code, headers=headers, content=content)


class There:
    """The agent's own jobs, and how often each was called."""

    def __init__(self) -> None:
        self.bell = Workbell(store=fresh_store())
        self.calls: list[int] = []

        @self.bell.job
        async def charge(n: int) -> int:
            self.calls.append(n)
            return n


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: f"{answer[0]} {answer[2][:20]!r}")
async def test_what_a_proxy_answers_is_neither_believed_nor_the_end(answer: tuple[int, dict[str, str], bytes]) -> None:
    there = There()
    async with opened() as scene:
        proxy = Proxy(scene.app)
        proxy.answer = answer
        proxy.left = {"poll": 2, "result": 2, "progress": 1, "heartbeat": 1}
        async with working(scene, there.bell, proxy) as program:
            run = scene.bell.enqueue("charge", {"n": 7}, target="web-1")
            await asyncio.to_thread(program._heartbeat.beat)
            (found,) = await ended(scene, run)
            assert (found.status, found.result) == (Status.SUCCEEDED, 7)
            again = scene.bell.enqueue("charge", {"n": 8}, target="web-1")
            await ended(scene, again)
        assert there.calls == [7, 8]
        assert proxy.answered == 5
    there.bell.close()


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_what_a_hook_of_the_application_refuses_for_a_moment_is_not_the_end(status: int) -> None:
    """The application's own session database is away for two requests: the result is sent again, and nothing is done
    twice."""
    there = There()
    left = {"result": 2, "progress": 1, "poll": 1}

    def hook(connection: HTTPConnection) -> None:
        end = connection.url.path.rpartition("/")[2]
        if left.get(end, 0) > 0:
            left[end] -= 1
            raise HTTPException(status, "session database is away")

    async with opened(hook) as scene:
        async with working(scene, there.bell):
            run = scene.bell.enqueue("charge", {"n": 7}, target="web-1")
            (found,) = await ended(scene, run)
            assert (found.status, found.result) == (Status.SUCCEEDED, 7)
        assert there.calls == [7]
        assert len(scene.bell.attempts(run.id)) == 1
        assert left["result"] == 0
    there.bell.close()


async def test_a_poll_that_the_server_itself_refuses_is_not_the_end() -> None:
    """A newer agent beside an older server: the server may be replaced at any time."""
    there = There()
    async with opened() as scene:
        proxy = Proxy(scene.app)
        proxy.answer, proxy.left = (422, PROBLEM, REFUSED), {"poll": 3}
        async with working(scene, there.bell, proxy):
            await ended(scene, scene.bell.enqueue("charge", {"n": 7}, target="web-1"))
    there.bell.close()


async def test_the_servers_own_word_is_the_end() -> None:
    there = There()
    async with opened() as scene:
        ending = working(scene, there.bell)
        program = await ending.__aenter__()
        scene.bell.agents.delete("web-1")
        await until(lambda: program._stopping.is_set(), "the program to end by itself")
        with pytest.raises(Unauthorized, match="not valid"):
            await ending.__aexit__(None, None, None)
    there.bell.close()


async def test_what_is_finished_is_told_after_any_outage() -> None:
    """By the agent's own clock the lease is over long since; the server has given the run to nobody else."""
    there = There()
    async with opened() as scene:
        proxy = Proxy(scene.app)
        proxy.answer, proxy.left = (502, HTML, b""), {"result": 10**9, "heartbeat": 10**9}
        async with working(scene, there.bell, proxy) as program:
            run = scene.bell.enqueue("charge", {"n": 7}, target="web-1")
            await until(lambda: proxy.answered > 2 and there.calls == [7], "the result to be refused")
            (held,) = program._held_runs.values()
            held.renewed_at -= 1000
            assert not await asyncio.to_thread(program._heartbeat.beat)
            assert not held.lost
            assert [one for one, _ in program._held_runs] == [run.id], "it is named in every poll"
            proxy.left = {}
            assert await asyncio.to_thread(program._heartbeat.beat)
            (found,) = await ended(scene, run)
        assert (found.result, there.calls) == (7, [7])
        assert len(scene.bell.attempts(run.id)) == 1
    there.bell.close()


async def test_a_heartbeat_that_gets_through_again_ends_the_wait_before_the_next_try(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The result must be there before the server, which is back, gives the run to somebody else."""
    there = There()
    async with opened() as scene:
        proxy = Proxy(scene.app)
        proxy.answer, proxy.left = (502, HTML, b""), {"result": 1}
        async with working(scene, there.bell, proxy, first_wait=3600.0) as program:
            run = scene.bell.enqueue("charge", {"n": 7}, target="web-1")
            await until(lambda: "its result was not taken" in caplog.text, "the result to be refused")
            proxy.left["heartbeat"] = 1
            for _ in range(2):
                await asyncio.to_thread(program._heartbeat.beat)
            await ended(scene, run)
    there.bell.close()


async def test_an_outage_is_logged_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    there = There()
    async with opened() as scene:
        proxy = Proxy(scene.app)
        proxy.answer, proxy.left = (404, HTML, b""), {"poll": 8}
        with caplog.at_level(logging.INFO, "workbell.agent_program"):
            async with working(scene, there.bell, proxy):
                await ended(scene, scene.bell.enqueue("charge", {"n": 7}, target="web-1"))
    there.bell.close()
    said = [one.getMessage() for one in caplog.records if one.getMessage().startswith("no poll")]
    assert said == [
        "no poll got through: http://127.0.0.1:8321: status 404 came with text/html, which is no answer of Workbell; "
        "check the URL, and what stands in between. It is tried again until the server answers.",
        "no poll got through until now; the server answers again",
    ]


def test_a_heartbeat_does_not_drop_what_is_finished() -> None:
    """A lease that has ended cannot be renewed; the result may be taken all the same, and only that answer counts."""

    class Answering:
        def send(self, call: RemoteCall[LeasesShown]) -> LeasesShown:
            holding = [msgspec.structs.asdict(one) for one in call.body.holding]
            more = {"held": False, "lease_until": None, "cancel": None, "new": 1}
            return call.read(msgspec.json.encode({"runs": [one | more for one in holding]}))

    class Run:
        id, token = "1", 1

    asked: list[HeldRun] = []
    working_on, finished = HeldRun(Run(), "a", 0.0), HeldRun(Run(), "a", 0.0)  # type: ignore[arg-type]
    finished.run.__dict__["id"] = "2"
    finished.finished = True
    line: Any = Answering()
    heartbeat = AgentHeartbeat(
        line, "s", 30.0, lambda: [working_on, finished], lambda hand, _cancel: asked.append(hand)
    )
    assert heartbeat.beat()
    assert asked == [working_on]


# Another version


async def test_fields_that_one_side_does_not_know_are_passed_over() -> None:
    there = There()
    async with opened() as scene:
        proxy = Proxy(scene.app)
        proxy.changed = _with_news
        async with working(scene, there.bell, NewerAgent(proxy)):
            (found,) = await ended(scene, scene.bell.enqueue("charge", {"n": 7}, target="web-1"))
        assert (found.result, proxy.answered) == (7, 0)
        text = scene.bell.agents.pairing("box").text
        await scene.ask("POST", "/agents/pair", 201, {"token": text, "colour": "blue"}, token=None)
    there.bell.close()


class NewerAgent(httpx2.AsyncBaseTransport):
    """Sends a field more wherever it can."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = _with_news(msgspec.json.decode(await request.aread()))
        return await self._inner.handle_async_request(
            httpx2.Request(
                request.method,
                request.url,
                headers={"authorization": request.headers["authorization"]},
                json=body,
            )
        )


def _with_news(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: one if key in ("input", "result") else _with_news(one) for key, one in value.items()} | {"new": {}}
    return [_with_news(one) for one in value] if isinstance(value, list) else value


async def test_the_agents_own_code_runs_definitions() -> None:
    """D2: under their names, with their inputs and timeouts; its own job has another."""
    there = There()

    @there.bell.job(timeout=0.01)
    async def rest(ctx: Context, seconds: float) -> str:
        await asyncio.sleep(seconds)
        return ctx.run.job

    async with opened() as scene, working(scene, there.bell):
        scene.bell.jobs.put("rest-long", handler="rest", input={"seconds": 0.2}, target="web-1", retry=1)
        scene.bell.jobs.put("rest-short", handler="rest", input={"seconds": 30}, target="web-1", timeout=0.2, retry=1)
        runs = [scene.bell.enqueue(name) for name in ("rest-long", "rest-short")]
        long, short = await ended(scene, *runs)
        assert (long.status, long.result) == (Status.SUCCEEDED, "rest-long")
        assert (short.status, short.reason) == (Status.FAILED, "timeout")
    there.bell.close()
