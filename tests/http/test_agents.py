"""Agents over HTTP: the protocol with any client, long polls that share one look, and the program's own ways (E7)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import httpx2
import msgspec
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.features import Recover
from tests.support.inside.http import AuthHook
from tests.support.inside.http import agent_routes as agents
from tests.support.inside.http import run_routes as runs
from tests.support.inside.remote import Handlers, Program, RemoteCall, ServerConnection, address_of, held_run
from tests.support.inside.remote import agent_heartbeat as heartbeat_module
from tests.support.inside.remote import agent_main as program_module
from tests.support.inside.stores import Head, LeaseTerms, Pick, Store
from tests.support.inside.values import MOST_TOKEN, Settings
from tests.support.inside.wire import (
    AgentShown,
    HandedRuns,
    LeasesShown,
    ListPage,
    PairedShown,
    PairingShown,
    RunTaken,
    TakenShown,
)
from workbell import Cancel, Context, Retry, Run, Snooze, Status, Workbell

pytestmark = pytest.mark.anyio

T = TypeVar("T")

BASE = "http://127.0.0.1:8321"


class Scene:
    """A service in this process, with an admin and an agent."""

    def __init__(self, bell: Workbell, app: Any) -> None:
        self.bell = bell
        self.app = app
        self.service = app.state.service
        self.admin = bell.tokens.create("admin", scopes=["admin"]).text
        self.agent = bell.agents.pair(bell.agents.pairing("web-1", labels=["gpu"]).text).text

    def client(self, token: str | None) -> httpx2.AsyncClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.app), base_url=BASE, headers=headers)

    async def ask(
        self, method: str, path: str, wanted: int, body: Any = None, form: Any = None, token: str | None = ""
    ) -> Any:
        text = self.agent if token == "" else token
        async with self.client(text) as http:
            answer = await http.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code == wanted, answer.text
        if form is not None:
            msgspec.json.decode(answer.content, type=form)
        return answer.json() if answer.content else None


@asynccontextmanager
async def opened(auth: AuthHook | None = None) -> AsyncIterator[Scene]:
    bell = Workbell(store=fresh_store(), settings=Settings())
    app = bell.asgi(auth=auth)
    try:
        yield Scene(bell, app)
    finally:
        await app.state.service.close()
        bell.runtime.close()


async def until(condition: Callable[[], bool], what: str) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


async def test_a_pairing_is_made_once_for_an_idempotency_key() -> None:
    """Its text is in the first answer alone: it is not stored with the key."""
    async with opened() as scene:

        async def ask(name: str) -> httpx2.Response:
            async with scene.client(scene.admin) as http:
                key = {"Idempotency-Key": "k"}
                return await http.post("/api/v1/agents/pairings", json={"name": name}, headers=key)

        first, again = await ask("db-1"), await ask("db-1")
        made, repeated = first.json(), again.json()
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.headers["cache-control"] == "no-store"
        assert again.headers["idempotent-replayed"] == "true"
        assert repeated == made | {"token": None}
        assert scene.bell.agents.pair(made["token"]).agent.name == "db-1"
        assert (await ask("db-2")).status_code == 409
        pairings = [one.id for one in scene.bell.tokens.list() if one.kind == "pairing"]
        assert len(pairings) == 2, "that of the scene, and this one"
        assert made["id"] in pairings


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
        told = {"token": run["token"], "session": "s", "done": 1, "logs": [{"message": "hello"}]}
        assert await scene.ask("POST", f"{path}/progress", 200, told, TakenShown) == {"taken": True}
        ended = {"token": run["token"], "session": "s", "status": "succeeded", "result": {"bytes": 7}}
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


async def test_the_largest_token_is_exact_to_the_last_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: in JSON and back, in every post of the protocol."""
    async with opened() as scene:
        runs = scene.bell.store.runs
        sound = runs.claim
        tokens = [MOST_TOKEN]

        def claim(picks: Sequence[Pick], limit: int, terms: LeaseTerms, **named: Any) -> list[Run]:
            return sound(picks, limit, terms._replace(token=tokens[-1]), **named)

        monkeypatch.setattr(runs, "claim", claim)
        run = scene.bell.enqueue("backup", target="web-1", retry=Retry(attempts=2, delay=0))
        path = f"/agents/self/runs/{run.id}"
        async with scene.client(scene.agent) as http:
            polled = (await http.post("/api/v1/agents/self/poll", json={"session": "s"})).text
        assert '"token":9007199254740991,' in polled
        near, beyond = {"token": MOST_TOKEN - 1, "session": "s"}, {"token": MOST_TOKEN + 1, "session": "s"}
        told = {"token": MOST_TOKEN, "session": "s"}
        await scene.ask("POST", f"{path}/progress", 409, near | {"done": 1})
        await scene.ask("POST", f"{path}/progress", 422, beyond | {"done": 1})
        await scene.ask("POST", f"{path}/progress", 200, told | {"done": 1, "logs": [{"message": "hello"}]})
        body = {"session": "s", "holding": [{"id": run.id, "token": one["token"]} for one in (told, near)]}
        kept = (await scene.ask("POST", "/agents/self/heartbeat", 200, body, LeasesShown))["runs"]
        assert [(one["token"], one["held"]) for one in kept] == [(MOST_TOKEN, True), (MOST_TOKEN - 1, False)]
        failed = {"status": "failed", "error": "no"}
        await scene.ask("POST", f"{path}/result", 409, near | failed)
        assert await scene.ask("POST", f"{path}/result", 200, told | failed) == {"taken": True}
        scene.bell.dispatch()
        tokens.append(MOST_TOKEN - 1)
        (again,) = (await scene.ask("POST", "/agents/self/poll", 200, {"session": "s"}))["runs"]
        assert again["token"] == MOST_TOKEN - 1
        assert await scene.ask("POST", f"{path}/result", 200, told | failed) == {"taken": False}, "the first one again"
        assert await scene.ask("POST", f"{path}/result", 200, near | {"status": "succeeded"}) == {"taken": True}
        assert [attempt.token for attempt in scene.bell.attempts(run.id)] == [MOST_TOKEN, MOST_TOKEN - 1]


async def taken(scene: Scene, run_id: str, session: str | None = "s", wanted: int = 200, token: str = "") -> Any:
    form = RunTaken if wanted == 200 else None
    return await scene.ask("POST", f"/agents/self/runs/{run_id}/take", wanted, {"session": session}, form, token)


async def test_a_run_is_taken_by_its_id() -> None:
    """Whoever a queue tells about it: once, by one session, which gets it again if the answer was lost."""
    async with opened() as scene:
        first, run = (scene.bell.enqueue("backup", {"n": n}, target="label:gpu") for n in range(2))
        got = await taken(scene, run.id)
        assert (got["status"], got["run"]["id"], got["run"]["input"]) == ("running", run.id, {"n": 1})
        token = got["run"]["token"]
        assert (token, got["run"]["attempt"]) == (scene.bell.get(run.id).token, 1)
        again = await taken(scene, run.id)
        assert (again["run"]["token"], again["run"]["attempt"]) == (token, 1)
        assert await taken(scene, run.id, "other") == {"run": None, "status": "running"}
        ended = {"token": token, "session": "s", "status": "succeeded", "result": 7}
        assert await scene.ask("POST", f"/agents/self/runs/{run.id}/result", 200, ended) == {"taken": True}
        assert await taken(scene, run.id) == {"run": None, "status": "succeeded"}
        assert scene.bell.get(first.id).status is Status.QUEUED
        anonymous = await taken(scene, first.id, None)
        assert anonymous["run"]["token"] not in (0, token)
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
        token = (await taken(scene, one.id))["run"]["token"]
        assert await taken(scene, two.id) == {"run": None, "status": "queued"}
        ended = {"token": token, "session": "s", "status": "failed", "error": "x", "final": True}
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


class LeavingCaller:
    """A poll over a connection that the caller can close."""

    def __init__(self, scene: Scene, body: bytes) -> None:
        self._app, self._body = scene.app, body
        self._loop = asyncio.get_running_loop()
        self._sent, self._gone = False, asyncio.Event()
        self._noticed = threading.Event()
        self._answer: list[Any] = []
        headers = {
            "host": "localhost",
            "authorization": f"Bearer {scene.agent}",
            "content-type": "application/json",
            "content-length": str(len(body)),
        }
        self._connection = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "path": "/api/v1/agents/self/poll",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }

    async def poll(self) -> tuple[int, bytes]:
        await self._app(self._connection, self._receive, self._send)
        return self._answer[0]["status"], self._answer[1]["body"]

    def leave(self) -> None:
        self._gone.set()

    def leave_from_thread(self) -> None:
        """Close the connection, and wait until the application has heard of it."""
        self._loop.call_soon_threadsafe(self.leave)
        assert self._noticed.wait(20), "nobody listens for the end of the connection"

    async def _receive(self) -> dict[str, Any]:
        if not self._sent:
            self._sent = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        self._loop.call_soon(self._noticed.set)  # after who receives this has gone on
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self._answer.append(message)


@pytest.mark.parametrize("body", [b'{"wait": 60}', b'{"wait": 60, "session": "s"}'])
async def test_an_abandoned_poll_ends_at_once(body: bytes) -> None:
    """Its place among the caller's polls is free, and no run is claimed that nobody would receive."""
    async with opened() as scene:
        caller = LeavingCaller(scene, body)
        polling = asyncio.create_task(caller.poll())
        await until(lambda: len(scene.service.waiting_agents._waiting) == 1, "the poll to wait")
        claimed = surveys(scene.bell.store)
        caller.leave()
        async with asyncio.timeout(5):
            assert await polling == (200, b'{"runs":[]}')
        assert not claimed
        assert not scene.service.waiting_agents._waiting


async def test_a_run_that_was_taken_for_who_has_gone_meanwhile_is_handed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a session nothing is handed out twice, and it would wait until its lease is over."""
    claim = agents._poll
    async with opened() as scene:
        run = scene.bell.enqueue("backup", target="web-1")
        caller = LeavingCaller(scene, b"{}")

        def claim_and_leave(*given: Any) -> Any:
            claimed = claim(*given)
            assert scene.bell.get(run.id).status is Status.RUNNING
            caller.leave_from_thread()
            return claimed

        monkeypatch.setattr(agents, "_poll", claim_and_leave)
        assert await caller.poll() == (200, b'{"runs":[]}')
        found = scene.bell.get(run.id)
        assert (found.status, found.failures) == (Status.QUEUED, 0)


async def test_a_stream_has_every_line_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "LOG_PAGE", 2)
    async with opened() as scene:
        run = scene.bell.enqueue("backup", target="web-1")
        await scene.ask("POST", "/agents/self/poll", 200, {"session": "s"})
        path, told = f"/agents/self/runs/{run.id}", {"token": scene.bell.get(run.id).token, "session": "s"}
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


class LoopConnection(ServerConnection):
    """Heartbeats over the same application: from their thread to the loop and back."""

    def __init__(self, scene: Scene, transport: httpx2.AsyncBaseTransport | None) -> None:
        used = transport or httpx2.ASGITransport(app=scene.app)
        super().__init__(address_of(BASE), scene.agent, transport=used)
        self._loop = asyncio.get_running_loop()

    def send(self, call: RemoteCall[T]) -> T:
        return asyncio.run_coroutine_threadsafe(self.asend(call), self._loop).result(10)


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


class Asleep(httpx2.ASGITransport):
    """The agent's machine is suspended while the first run is on its way to it. `lost`: the server takes the run back
    meanwhile."""

    def __init__(self, scene: Scene, monkeypatch: pytest.MonkeyPatch, *, lost: bool) -> None:
        super().__init__(app=scene.app)
        self._bell, self._lost, self._slept = scene.bell, lost, 0.0
        clock = held_run.lease_time
        for module in (program_module, heartbeat_module):
            monkeypatch.setattr(module, "lease_time", lambda: clock() + self._slept)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        running = self._bell.runs(status="running")
        if request.url.path.endswith("/poll") and running and not self._slept:
            self._slept = 60.0
            if self._lost:
                (until_then,) = [run.lease_until for run in running]
                assert until_then is not None
                store = self._bell.store
                Recover(store, self._bell.runtime.booking, lambda _: store.wake(), 5).step(until_then)
        return response


@asynccontextmanager
async def working(scene: Scene, there: Workbell, transport: Any = None, **settings: Any) -> AsyncIterator[Program]:
    program = Program(
        LoopConnection(scene, transport),
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


async def test_hooks_of_the_agents_own_app_are_around_its_handlers() -> None:
    there = Workbell(store=fresh_store())
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    starts: list[int] = []
    there.on_worker_start(lambda: starts.append(1))

    @there.around_run
    def sets(ctx: Context) -> Iterator[None]:
        if ctx.run.input:
            tenant.set(f"{ctx.run.tenant} {ctx.run.job}")
        yield

    @there.job
    def plain(name: str = "") -> str:
        return tenant.get()

    @there.job
    async def on_loop(name: str = "") -> str:
        return tenant.get()

    async with opened() as scene, working(scene, there):
        runs = [scene.bell.enqueue(job, {"name": "x"}, target="web-1") for job in ("plain", "on_loop")]
        assert [run.result for run in await ended(scene, *runs)] == ["default plain", "default on_loop"]
        (after,) = await ended(scene, scene.bell.enqueue("plain", {}, target="web-1"))
        assert after.result == "nobody"  # what a hook sets ends with the run
    assert starts == [1]


async def test_a_result_over_the_limit_that_reaches_the_server_is_refused() -> None:
    async with opened() as scene:
        run = scene.bell.enqueue("backup", target="web-1")
        polled = await scene.ask("POST", "/agents/self/poll", 200, {"session": "s"})
        body = {"token": polled["runs"][0]["token"], "session": "s", "status": "succeeded", "result": "x" * 300_000}
        assert await scene.ask("POST", f"/agents/self/runs/{run.id}/result", 200, body) == {"taken": True}
        found = scene.bell.get(run.id)
    assert (found.status, found.reason) == (Status.FAILED, "result")
    assert "the agent's result is 300,002 bytes as JSON" in (found.error or "")
    assert "The server has not kept it." in (found.error or "")


async def test_a_result_over_the_limit_stays_on_the_agents_machine(tmp_path: Path) -> None:
    there = Workbell(store=fresh_store(), settings=Settings(storage=str(tmp_path)))

    @there.job
    def large() -> str:
        return "x" * 300_000

    async with opened() as scene, working(scene, there):
        (run,) = await ended(scene, scene.bell.enqueue("large", {}, target="web-1"))
    (file,) = there.files.list()
    assert (run.status, run.reason) == (Status.FAILED, f"result; kept as file {file.id}")
    assert f"{file.id} in {tmp_path} on " in (run.error or "")
    with there.files.open(file.id) as content:
        assert len(content.read()) == 300_002


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
        await until(lambda: scene.bell.get(wrong.id).failures == 1, "the input to be refused")
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


@pytest.mark.parametrize("lost", [True, False])
async def test_what_came_before_a_suspend_begins_only_under_its_lease(
    lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, begun = Workbell(store=fresh_store()), []

    @there.job
    def note(ctx: Context) -> None:
        begun.append(ctx.run.attempt)

    async with opened() as scene, working(scene, there, Asleep(scene, monkeypatch, lost=lost)):
        (run,) = await ended(scene, scene.bell.enqueue("note", {}, target="web-1"))
    assert (run.status, run.losses) == (Status.SUCCEEDED, int(lost))
    assert begun == [2 if lost else 1]
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
