"""Agents over HTTP: the protocol with any client, long polls that share one look, and the program's own ways (E7)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from tests.support.fresh_store import fresh_store
from workbell import Cancel, Context, Snooze, Workbell
from workbell.agent_program.handlers import Handlers
from workbell.agent_program.program import Program
from workbell.agent_program.server_connection import ServerConnection
from workbell.engine.recover import Recover
from workbell.http import run_stream
from workbell.http.routes import agents
from workbell.http.schemas.agents import (
    AgentShown,
    HandedRuns,
    LeasesShown,
    PairedShown,
    PairingShown,
    RunTaken,
    TakenShown,
)
from workbell.http.schemas.base import ListPage
from workbell.model.run import Run, Status
from workbell.settings import Settings
from workbell.stores.port import Head, Store

pytestmark = pytest.mark.anyio

BASE = "http://127.0.0.1:8321"


class Scene:
    """A service in this process, with an admin and an agent."""

    def __init__(self, bell: Workbell, app: Any) -> None:
        self.bell = bell
        self.app = app
        self.service = app.state.service
        self.admin = bell.tokens.create("admin", scopes=["admin"]).text
        self.agent = bell.agents.pair(bell.agents.pairing("web-1", labels=["gpu"]).text).text

    def client(self, token: str | None, transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        used = transport or httpx2.ASGITransport(app=self.app)
        return httpx2.AsyncClient(transport=used, base_url=BASE, headers=headers)

    async def ask(
        self, method: str, path: str, wanted: int, body: Any = None, form: Any = None, token: str | None = ""
    ) -> Any:
        text = self.agent if token == "" else token
        async with self.client(text) as http:
            answer = await http.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code == wanted, answer.text
        if form is not None:
            assert issubclass(form, BaseModel)
            form.model_validate(answer.json(), strict=False)
        return answer.json() if answer.content else None


@asynccontextmanager
async def opened() -> AsyncIterator[Scene]:
    bell = Workbell(store=fresh_store(), settings=Settings())
    app = bell.asgi()
    try:
        yield Scene(bell, app)
    finally:
        await app.state.service.close()
        bell.runtime.close()


async def until(condition: Callable[[], bool], what: str) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


async def test_the_whole_protocol() -> None:
    async with opened() as scene:
        body = {"name": "db-1", "labels": ["ssd"]}
        made = await scene.ask("POST", "/agents/pairings", 201, body, PairingShown, scene.admin)
        paired = await scene.ask("POST", "/agents/pair", 201, {"token": made["token"]}, PairedShown, None)
        await scene.ask("POST", "/agents/pair", 401, {"token": made["token"]}, token=None)
        scene.agent = paired["token"]
        assert (await scene.ask("GET", "/agents/self", 200, form=AgentShown))["name"] == "db-1"
        assert (await scene.ask("POST", "/agents/self/poll", 200, {}, HandedRuns)) == {"runs": []}

        scene.bell.enqueue("backup", {"source": "x"}, target="label:ssd", timeout=60)
        (run,) = (await scene.ask("POST", "/agents/self/poll", 200, {"session": "s"}, HandedRuns))["runs"]
        assert (run["job"], run["input"], run["timeout"]) == ("backup", {"source": "x"}, 60)
        held = {"id": run["id"], "token": run["token"]}
        scene.bell.cancel(run["id"], "enough")
        body = {"session": "s", "holding": [held, held | {"token": 7}], "metrics": {"load": 1}}
        kept = await scene.ask("POST", "/agents/self/heartbeat", 200, body, LeasesShown)
        assert [(one["held"], one["cancel"]) for one in kept["runs"]] == [(True, "enough"), (False, None)]
        path = f"/agents/self/runs/{run['id']}"
        told = {"token": 1, "session": "s", "done": 1, "logs": [{"message": "hello"}]}
        assert await scene.ask("POST", f"{path}/progress", 200, told, TakenShown) == {"taken": True}
        ended = {"token": 1, "session": "s", "status": "succeeded", "result": {"bytes": 7}}
        await scene.ask("POST", f"{path}/result", 409, ended | {"session": "other"})
        await scene.ask("POST", f"{path}/result", 422, ended | {"status": "done"})
        assert await scene.ask("POST", f"{path}/result", 200, ended, TakenShown) == {"taken": True}
        assert await scene.ask("POST", f"{path}/result", 200, ended, TakenShown) == {"taken": False}
        assert await scene.ask("POST", f"{path}/progress", 200, told, TakenShown) == {"taken": False}
        assert scene.bell.get(run["id"]).result == {"bytes": 7}

        names = [one["name"] for one in (await scene.ask("GET", "/agents", 200, None, None, scene.admin))["items"]]
        assert names == ["db-1", "web-1"]
        page = await scene.ask("GET", "/agents?limit=1", 200, None, ListPage[AgentShown], scene.admin)
        assert page["next"] == "db-1"
        page = await scene.ask("GET", "/agents?limit=1&after=db-1", 200, None, ListPage[AgentShown], scene.admin)
        assert ([one["name"] for one in page["items"]], page["next"]) == (["web-1"], None)
        change = {"labels": ["hdd"], "enabled": False}
        shown = await scene.ask("PATCH", "/agents/db-1", 200, change, AgentShown, scene.admin)
        assert (shown["labels"], shown["enabled"]) == (["hdd"], False)
        await scene.ask("DELETE", "/agents/db-1", 204, token=scene.admin)
        await scene.ask("GET", "/agents/db-1", 404, token=scene.admin)
        await scene.ask("POST", "/agents/self/poll", 401, {})


async def taken(scene: Scene, run_id: str, session: str | None = "s", wanted: int = 200, token: str = "") -> Any:
    form = RunTaken if wanted == 200 else None
    return await scene.ask("POST", f"/agents/self/runs/{run_id}/take", wanted, {"session": session}, form, token)


async def test_a_run_is_taken_by_its_id() -> None:
    """Whoever a queue tells about it: once, by one session, which gets it again if the answer was lost."""
    async with opened() as scene:
        first, run = (scene.bell.enqueue("backup", {"n": n}, target="label:gpu") for n in range(2))
        got = await taken(scene, run.id)
        assert (got["status"], got["run"]["id"], got["run"]["input"]) == ("running", run.id, {"n": 1})
        assert (got["run"]["token"], got["run"]["attempt"]) == (1, 1)
        again = await taken(scene, run.id)
        assert (again["run"]["token"], again["run"]["attempt"]) == (1, 1)
        assert await taken(scene, run.id, "other") == {"run": None, "status": "running"}
        ended = {"token": 1, "session": "s", "status": "succeeded", "result": 7}
        assert await scene.ask("POST", f"/agents/self/runs/{run.id}/result", 200, ended) == {"taken": True}
        assert await taken(scene, run.id) == {"run": None, "status": "succeeded"}
        assert scene.bell.get(first.id).status is Status.QUEUED
        anonymous = await taken(scene, first.id, None)
        assert anonymous["run"]["token"] == 1
        assert await taken(scene, first.id, None) == {"run": None, "status": "running"}


async def test_what_a_take_leaves_alone() -> None:
    """Runs of others, and runs that are paused, not due, or more than their limit allows."""
    async with opened() as scene:
        bell = scene.bell
        bell.job(name="alone", concurrency=1)(lambda: None)
        bell.job(name="print")(lambda: None)
        elsewhere, untargeted = bell.enqueue("print", target="web-2"), bell.enqueue("print")
        for hidden in (elsewhere.id, untargeted.id, "nonsense", "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"):
            await taken(scene, hidden, wanted=404)
        other = bell.for_tenant("acme").enqueue("print", target="web-1")
        await taken(scene, other.id, wanted=404)
        later = bell.enqueue("print", target="web-1", delay=60)
        assert await taken(scene, later.id) == {"run": None, "status": "scheduled"}

        paused = bell.enqueue("print", target="web-1")
        bell.pauses.pause(job="print")
        assert await taken(scene, paused.id) == {"run": None, "status": "queued"}
        bell.pauses.resume(job="print")
        assert (await taken(scene, paused.id))["run"] is not None

        one, two = (bell.enqueue("alone", target="web-1") for _ in range(2))
        assert (await taken(scene, one.id))["run"] is not None
        assert await taken(scene, two.id) == {"run": None, "status": "queued"}
        ended = {"token": 1, "session": "s", "status": "failed", "error": "x", "final": True}
        await scene.ask("POST", f"/agents/self/runs/{one.id}/result", 200, ended)
        bell.agents.disable("web-1")
        assert await taken(scene, two.id) == {"run": None, "status": "queued"}
        bell.agents.enable("web-1")
        assert (await taken(scene, two.id))["run"] is not None

        bell.jobs.put("red", handler="print")
        red = bell.enqueue("red", target="web-1")
        bell.jobs.put("red", handler="print", enabled=False)
        assert await taken(scene, red.id) == {"run": None, "status": "queued"}, "its definition is disabled"
        bell.jobs.put("red", handler="print", enabled=True)
        assert (await taken(scene, red.id))["run"]["handler"] == "print"

        bell.tenants.put("default", concurrency=3)
        three = bell.enqueue("print", target="web-1")
        assert await taken(scene, three.id) == {"run": None, "status": "queued"}, "three are running"
        await scene.ask("POST", f"/agents/self/runs/{three.id}/take", 422, {"lease": 1})


async def test_of_many_who_take_one_run_one_has_it() -> None:
    async with opened() as scene:
        run = scene.bell.enqueue("backup", target="web-1")
        answers = await asyncio.gather(*(taken(scene, run.id, f"s-{n}") for n in range(12)))
        assert sum(answer["run"] is not None for answer in answers) == 1
        assert scene.bell.get(run.id).attempt == 1


async def test_a_run_that_was_taken_for_who_has_gone_meanwhile_is_handed_back() -> None:
    """Without a session nothing is handed out twice, and it would wait until its lease is over."""
    async with opened() as scene:
        run = scene.bell.enqueue("backup", target="web-1")
        read = False

        async def receive() -> dict[str, Any]:
            nonlocal read
            if not read:
                read = True
                return {"type": "http.request", "body": b"{}", "more_body": False}
            if scene.bell.get(run.id).status is not Status.RUNNING:
                await asyncio.Event().wait()  # it is there, and says nothing
            return {"type": "http.disconnect"}

        told: list[Any] = []

        async def send(message: Any) -> None:
            told.append(message)

        headers = {"host": "localhost", "authorization": f"Bearer {scene.agent}", "content-type": "application/json"}
        connection = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "path": "/api/v1/agents/self/poll",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in {**headers, "content-length": "2"}.items()],
        }
        await scene.app(connection, receive, send)
        assert (told[0]["status"], told[1]["body"]) == (200, b'{"runs":[]}')
        found = scene.bell.get(run.id)
        assert (found.status, found.failures) == (Status.QUEUED, 0)


async def test_a_stream_has_every_line_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_stream, "PAGE", 2)
    async with opened() as scene:
        run = scene.bell.enqueue("backup", target="web-1")
        await scene.ask("POST", "/agents/self/poll", 200, {"session": "s"})
        path, told = f"/agents/self/runs/{run.id}", {"token": 1, "session": "s"}
        await scene.ask("POST", f"{path}/progress", 200, told | {"logs": [{"message": str(line)} for line in range(5)]})
        await scene.ask("POST", f"{path}/result", 200, told | {"status": "succeeded"})
        async with scene.client(scene.admin) as http:
            streamed = (await http.get(f"/api/v1/runs/{run.id}/stream")).text
        assert streamed.count("event: log\n") == 5


async def test_an_agents_token_opens_nothing_else() -> None:
    async with opened() as scene:
        for method, path in (
            ("GET", "/agents"),
            ("GET", "/runs"),
            ("POST", "/agents/pairings"),
            ("DELETE", "/agents/x"),
        ):
            await scene.ask(method, path, 403, {} if method == "POST" else None)
        for path in ("/agents/self/poll", "/agents/self/heartbeat"):
            await scene.ask("POST", path, 403, {}, token=scene.admin)
        bare = scene.bell.tokens.create("bare", scopes=["agent"]).text
        await scene.ask("POST", "/agents/self/poll", 404, {}, token=bare)


def surveys(store: Store) -> list[str]:
    """From now on, each look at the lanes of an agent: as many as it polls."""
    survey = store.runs.survey_tenant
    seen: list[str] = []

    def noted(tenant: str, limit: int, targets: Sequence[str] | None = None) -> list[Head]:
        if targets is not None:
            seen.append(targets[0])
        return survey(tenant, limit, targets)

    store.runs.survey_tenant = noted  # type: ignore[method-assign]
    return seen


async def test_long_polls_share_one_look_and_only_the_right_one_is_woken() -> None:
    async with opened() as scene:
        verbs = scene.bell.agents
        texts = [verbs.pair(verbs.pairing(f"box-{n}").text).text for n in range(30)]
        waiting = scene.service.waiting_agents
        body = {"wait": 30, "session": "s"}
        polls = [asyncio.create_task(scene.ask("POST", "/agents/self/poll", 200, body, token=text)) for text in texts]
        await until(lambda: len(waiting._waiting) == 30, "all to wait")
        before, polled = waiting.polls, surveys(scene.bell.store)
        run = await scene.bell.aenqueue("backup", {}, target="box-7")
        answer = await polls[7]
        assert [one["id"] for one in answer["runs"]] == [run.id]
        assert waiting.polls - before < 10, "one poll for all, not one for each"
        assert sum(poll.done() for poll in polls) == 1
        assert len(polled) == 1, "only the one was woken, and polled"
        scene.service.stop()
        async with asyncio.timeout(5):
            assert [await poll for n, poll in enumerate(polls) if n != 7] == [{"runs": []}] * 29


async def test_a_poll_for_what_cannot_be_taken_waits_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "QUIET", 0.3)
    async with opened() as scene:
        scene.bell.enqueue("other", {}, target="web-1")
        asked = surveys(scene.bell.store)
        body = {"wait": 0.65, "jobs": ["backup"]}
        assert await scene.ask("POST", "/agents/self/poll", 200, body) == {"runs": []}
        assert len(asked) <= 5


# The program


class LoopLine:
    """Heartbeats over the same application: from their thread to the loop and back."""

    def __init__(self, line: ServerConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._line = line
        self._loop = loop

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(self._line.post(path, body), self._loop).result(10)

    def close(self) -> None: ...


class BadLine(httpx2.ASGITransport):
    """Loses requests before they arrive, and answers on their way back."""

    def __init__(self, app: Any, randomness: Random) -> None:
        super().__init__(app=app)
        self._random = randomness
        self.lost = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._random.random() < 0.25:
            self.lost += 1
            raise httpx2.ConnectError("no line")
        response = await super().handle_async_request(request)
        if self._random.random() < 0.25:
            self.lost += 1
            raise httpx2.ReadError("cut")
        return response


class SlowNews(httpx2.ASGITransport):
    """Holds back what a run logs until its result has arrived; at most for a while, because it should not."""

    def __init__(self, app: Any) -> None:
        super().__init__(app=app)
        self.on_its_way = threading.Event()
        self._ended = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/progress"):
            self.on_its_way.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), 0.3)
        response = await super().handle_async_request(request)
        if request.url.path.endswith("/result"):
            self._ended.set()
        return response


@asynccontextmanager
async def working(scene: Scene, there: Workbell, transport: Any = None, **settings: Any) -> AsyncIterator[Program]:
    line = ServerConnection(scene.client(scene.agent, transport))
    program = Program(
        line,
        LoopLine(line, asyncio.get_running_loop()),  # type: ignore[arg-type]
        handlers=Handlers(there.registry, 4),
        first_wait=settings.pop("first_wait", 0.01),
        grace=settings.pop("grace", 5),
        lease=5,
        wait=2,
        **settings,
    )
    running = asyncio.create_task(program.run())
    try:
        yield program
    finally:
        program.stop()
        async with asyncio.timeout(20):
            await running


async def ended(scene: Scene, *runs: Run) -> list[Run]:
    await until(lambda: all(scene.bell.get(run.id).status.final for run in runs), "the runs to end")
    return [scene.bell.get(run.id) for run in runs]


async def test_handlers_and_what_they_can_do() -> None:
    there = Workbell(store=fresh_store())

    @there.job
    def plain(ctx: Context, n: int) -> dict[str, Any]:
        ctx.logger.warning("n is %d", n)
        return {"n": n, "attempt": ctx.run.attempt}

    @there.job
    async def asks(ctx: Context) -> None:
        ctx.enqueue("plain")

    @there.job
    def cancels() -> Cancel:
        return Cancel("not today")

    @there.job
    def later() -> Snooze:
        return Snooze(3600, "busy")

    async with opened() as scene, working(scene, there):
        runs = [scene.bell.enqueue(job, given, target="web-1") for job, given in (("plain", {"n": 1}), ("cancels", {}))]
        found = await ended(scene, *runs)
        assert [run.status for run in found] == [Status.SUCCEEDED, Status.CANCELED]
        assert (found[0].result, found[1].reason) == ({"n": 1, "attempt": 1}, "not today")
        assert [line.message for line in scene.bell.logs(runs[0].id)] == ["n is 1"]
        wrong = scene.bell.enqueue("plain", {"m": 1}, target="web-1")
        asked, snoozed = (scene.bell.enqueue(job, {}, target="web-1") for job in ("asks", "later"))
        await until(lambda: scene.bell.get(wrong.id).failures == 1, "the payload to be refused")
        await until(lambda: scene.bell.get(asked.id).failures == 1, "the context to refuse")
        await until(lambda: scene.bell.get(snoozed.id).reason == "busy", "it to be snoozed")
        assert "an agent has no store" in (scene.bell.get(asked.id).error or "")
    there.close()


async def test_a_result_does_not_overtake_the_last_lines() -> None:
    """What comes after the end of a run is not taken."""
    there = Workbell(store=fresh_store())
    async with opened() as scene:
        slow = SlowNews(scene.app)

        @there.job
        def plain(ctx: Context) -> None:
            ctx.logger.warning("almost done")
            assert slow.on_its_way.wait(20)

        async with working(scene, there, slow):
            run = scene.bell.enqueue("plain", target="web-1")
            await ended(scene, run)
        assert [line.message for line in scene.bell.logs(run.id)] == ["almost done"]
    there.close()


async def test_its_end_is_asked_for_its_time_is_over_and_its_lease_is_lost() -> None:
    there, gate = Workbell(store=fresh_store()), threading.Event()

    @there.job
    async def endless() -> None:
        await asyncio.Event().wait()

    @there.job
    def slow(ctx: Context) -> None:
        gate.wait(20)

    async with opened() as scene, working(scene, there) as program:
        run = scene.bell.enqueue("endless", {}, target="web-1")
        late = scene.bell.enqueue("slow", {}, target="web-1", timeout=0.05)
        await until(lambda: scene.bell.get(run.id).status is Status.RUNNING, "it to start")
        scene.bell.cancel(run.id, "enough")
        await asyncio.to_thread(program._heartbeat.beat)
        (found,) = await ended(scene, run)
        assert (found.status, found.reason) == (Status.CANCELED, "enough")
        await until(lambda: scene.bell.get(late.id).reason == "timeout", "the time to be over")
        gate.set()

        lost = scene.bell.enqueue("endless", {}, target="web-1")
        await until(lambda: scene.bell.get(lost.id).status is Status.RUNNING, "it to start")
        until_then = scene.bell.get(lost.id).lease_until
        assert until_then is not None
        Recover(scene.bell.store, scene.bell.runtime.booking, lambda _: scene.bell.store.wake(), 5).step(until_then)
        await asyncio.to_thread(program._heartbeat.beat)
        await until(lambda: scene.bell.get(lost.id).attempt == 2, "it to be taken again")
        scene.bell.cancel(lost.id)
        await asyncio.to_thread(program._heartbeat.beat)
        await ended(scene, lost)
        assert [one.status.value for one in scene.bell.attempts(lost.id)] == ["lost", "canceled"]
    there.close()


async def test_it_hands_back_what_does_not_end_when_it_is_stopped() -> None:
    there = Workbell(store=fresh_store())

    @there.job
    async def endless() -> None:
        await asyncio.Event().wait()

    async with opened() as scene:
        async with working(scene, there, grace=0.05):
            run = scene.bell.enqueue("endless", {}, target="web-1")
            await until(lambda: scene.bell.get(run.id).status is Status.RUNNING, "it to start")
        assert scene.bell.get(run.id).status is Status.QUEUED
        assert scene.bell.get(run.id).failures == 0
    there.close()


async def test_a_line_that_loses_requests_and_answers_loses_no_run() -> None:
    there, calls = Workbell(store=fresh_store()), []

    @there.job
    async def count(n: int) -> int:
        calls.append(n)
        return n

    async with opened() as scene:
        bad = BadLine(scene.app, Random(3))
        runs = [scene.bell.enqueue("count", {"n": n}, target="label:gpu") for n in range(60)]
        async with working(scene, there, bad):
            found = await ended(scene, *runs)
        assert [run.result for run in found] == list(range(60))
        assert sorted(calls) == list(range(60))
        assert bad.lost > 20
    there.close()
