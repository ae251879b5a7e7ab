"""Every verb of the client through a real service, sync and async; answers that can be compared are the local ones."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, get_origin

import msgspec
import pytest

from tests.remote.conftest import Scene
from tests.remote.test_verbs import CALLED, ROOMS
from tests.support.inside.remote import ServiceTransport, is_paged
from tests.support.inside.values import KnownRun, compare, new_id
from tests.support.inside.wire import OPERATIONS, Operation
from tests.unit.makers import worker_of
from workbell import Client, Status
from workbell.testing import drain

NO_VERB = {
    "agents.heartbeat": "what an agent does",
    "agents.me": "what an agent does",
    "agents.pair": "what an agent does",
    "agents.poll": "what an agent does",
    "agents.progress": "what an agent does",
    "agents.result": "what an agent does",
    "agents.take": "what an agent does",
    "doctor.examine": "of the command line",
    "events.emit_batch": "for programs in other languages",
    "jobs.reloads": "of the dashboard",
    "runs.stream": "of the dashboard; the client has `watch`",
    "session.end": "of the dashboard",
    "sockets.make": "of the dashboard",
    "tokens.me": "of the dashboard and the command line",
}
NO_REQUEST = {"request", "for_tenant", "close"}
GO_ON = NO_REQUEST | {"watch", "awatch", "runs.watch", "runs.awatch", "events.tail"}  # no request, or many
PAST, LATER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
HOOK = "https://hooks.example.com/in"


class Caller:
    """Calls verbs of the client, sync or async, and notes which."""

    def __init__(self, scene: Scene, way: str) -> None:
        self.scene = scene
        self.called: set[str] = set()
        self._ask = getattr(scene, way)

    def do(self, verb: str, *args: Any, **options: Any) -> Any:
        self.called.add(verb)
        return self._ask(verb, *args, **options)

    def same(self, verb: str, *args: Any, **options: Any) -> Any:
        self.called.add(verb)
        return self.scene.same(verb, *args, **options)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Method and path of each call."""
    found: list[tuple[str, str]] = []
    real = ServiceTransport._sending

    def sending(self: ServiceTransport, call: Any) -> Any:
        found.append((call.method, call.path))
        return real(self, call)

    monkeypatch.setattr(ServiceTransport, "_sending", sending)
    return found


@pytest.fixture(params=["asked", "awaited"])
def caller(request: pytest.FixtureRequest, scene: Scene) -> Caller:
    return Caller(scene, request.param)


@pytest.fixture
def rounds(scene: Scene) -> Client:
    """A client that may only dispatch and consume: these scopes go with no others."""
    return Client(scene.url, scene.bell.tokens.create("rounds", scopes=["dispatch", "consume"], tenant="*").text)


def test_every_verb_and_every_operation(
    caller: Caller, rounds: Client, sent: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(caller.scene, "client", rounds)
        caller.do("dispatch")
        caller.do("consume", limit=100)
    for part in (enqueue_and_work, definitions, schedules, events, webhooks, access, agents, files, operating):
        part(caller)
    assert {verb for verb in client_verbs(caller.scene.client) if verb not in GO_ON} - caller.called == set()
    reached = {operation_of(method, path).name for method, path in sent}
    assert {operation.name for operation in OPERATIONS} - reached == set(NO_VERB)


def client_verbs(client: Client) -> Iterator[str]:
    """Sync verbs by name; a part that can be called is a verb itself."""
    yield from CALLED
    for room in ("", *ROOMS):
        part = getattr(client, room) if room else client
        for name, value in inspect.getmembers(type(part), inspect.isfunction):
            if not name.startswith("_") and not inspect.iscoroutinefunction(value):
                yield f"{room}.{name}" if room else name


def operation_of(method: str, path: str) -> Operation[Any]:
    def fits(operation: Operation[Any]) -> bool:
        return operation.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", operation.path), path) is not None

    return min(filter(fits, OPERATIONS), key=lambda operation: len(operation.parameters))


def enqueue_and_work(caller: Caller) -> None:
    bell = caller.scene.bell
    run = caller.do("enqueue", "send", {"to": "x"}, tag="every")
    caller.do("enqueue_many", [("send", {"to": "y"}), ("fail", {"reason": "so"})])
    drain(bell)
    caller.do("wait", run.id, 30)
    caller.do("runs.wait", run.id, 30)
    for prefix in ("", "runs."):
        for verb in ("get", "attempts", "logs"):
            caller.same(f"{prefix}{verb}", run.id)
        assert caller.do(f"{prefix}why", run.id).startswith("It succeeded")
    for verb in ("runs", "page_of_runs", "runs.page", "count_runs", "runs.count"):
        caller.same(verb, tag="every")
    assert caller.do("runs.tallies", 60, job="send").since < datetime.now(UTC)
    (recent,) = caller.same("jobs.recent", "send", limit=2)
    assert recent.job == "send"
    assert len(caller.same("jobs.recent")) >= 3
    for prefix in ("", "runs."):
        again = caller.do(f"{prefix}retry", run.id)
        assert caller.do(f"{prefix}cancel", again.id, "enough").reason == "enough"
        caller.do(f"{prefix}bulk", "cancel", dry_run=True, tag="every")
    drain(bell)


def definitions(caller: Caller) -> None:
    caller.do("jobs.put", "every", handler="send", input={"to": "x"})
    caller.do("jobs.update", "every", timeout=9)
    caller.do("jobs.disable", "every")
    caller.do("jobs.enable", "every")
    caller.same("jobs.get", "every")
    caller.same("jobs.list")
    caller.do("jobs.delete", "every")


def schedules(caller: Caller) -> None:
    for number in range(3):
        caller.do("schedules.put", f"every-{number}", job="send", input={"to": "x"}, every=3600 + number)
    assert len(caller.same("schedules.upcoming")) == 3
    assert [one.schedule for one in caller.same("schedules.upcoming", limit=2)] == ["every-0", "every-1"]
    caller.do("schedules.update", "every-0", cron="0 3 * * *")
    caller.do("schedules.run", "every-0")
    caller.do("schedules.pause", "every-0")
    caller.do("schedules.resume", "every-0")
    caller.same("schedules.get", "every-0")
    caller.same("schedules.list", limit=2)
    caller.same("schedules.ticks", "every-0")
    caller.same("schedules.preview", "every-0", 3, after=LATER)
    caller.same("schedules.preview_local", "every-0", 3, after=LATER)
    caller.same("schedules.try_out", at=LATER, n=1)
    for number in range(3):
        caller.do("schedules.delete", f"every-{number}")
    assert caller.same("schedules.upcoming") == []


def events(caller: Caller) -> None:
    caller.do("triggers.add", "every", pattern="every.*", processor="count")
    caller.do("triggers.update", "every", description="D")
    caller.do("triggers.disable", "every")
    caller.do("triggers.enable", "every")
    event = caller.do("emit", "every.one", {"n": 1})
    drain(caller.scene.bell)
    caller.same("events.get", event.id)
    caller.same("events.list", type="every.*")
    caller.same("events.matches", event.id)
    caller.same("events.match", "every.one")
    caller.same("events.counts", [event.id])
    caller.same("triggers.get", "every")
    caller.same("triggers.list")
    caller.same("triggers.matches", "every")
    execution, *_ = caller.same("executions", trigger="every")
    for verb in ("execution", "invocations", "executions.get", "executions.invocations"):
        caller.same(verb, execution.id)
    caller.do("triggers.delete", "every")
    for verb, args in (("notify", (7, "hello")), ("broadcast", ("hello",))):
        caller.do(verb, *args)
    listed = caller.scene.bell.notifications.list(7)
    assert caller.scene.shown(caller.do("notifications.list")) == caller.scene.shown(listed)
    caller.do("notifications.mark_read")


def webhooks(caller: Caller) -> None:
    name = caller.do("webhooks.add", HOOK, patterns=["never.*"]).endpoint.id
    caller.do("webhooks.update", name, patterns=["nothing.*"])
    caller.do("webhooks.rotate", name)
    caller.do("webhooks.disable", name)
    caller.do("webhooks.enable", name)
    delivery = caller.do("webhooks.test", name)
    caller.do("webhooks.replay", name, since=PAST)
    for verb in ("get", "describe", "health", "deliveries"):
        caller.same(f"webhooks.{verb}", name)
    caller.same("webhooks.list")
    caller.same("webhooks.describe_all")
    caller.same("webhooks.attempts", delivery.id)
    caller.do("webhooks.delete", name)


def access(caller: Caller) -> None:
    token = caller.do("tokens.create", "every").token
    caller.same("tokens.get", token.id)
    assert token.id in [one.id for one in caller.do("tokens.list")]
    caller.do("tokens.revoke", token.id)
    caller.do("tenants.put", "every", weight=2)
    caller.same("tenants.get", "every")
    caller.same("tenants.list")
    caller.do("tenants.delete", "every")
    caller.same("audit.list", limit=5)


def agents(caller: Caller) -> None:
    pairing = caller.do("agents.pairing", "every")
    caller.scene.bell.agents.pair(pairing.text)
    caller.do("agents.change", "every", labels=["gpu"])
    caller.do("agents.label", "every", ["cpu"])
    caller.do("agents.disable", "every")
    caller.do("agents.enable", "every")
    caller.same("agents.get", "every")
    caller.same("agents.list")
    caller.do("agents.delete", "every")


def files(caller: Caller) -> None:
    made = caller.do("files.put", b"a,b\n", filename="numbers.csv")
    assert (made.filename, made.content_type, made.size) == ("numbers.csv", "text/csv", 4)
    caller.same("files.get", made.id)
    caller.same("files.list")
    assert caller.do("files.open", made.id).read() == b"a,b\n"
    caller.do("files.delete", made.id)


def operating(caller: Caller) -> None:
    worker = worker_of("send", now=datetime.now(UTC))
    caller.scene.bell.store.workers.put(worker)
    caller.same("workers")
    known = KnownRun(new_id(), "default", 2**53 - 1, worker.id, Status.SUCCEEDED, 1, datetime.now(UTC), True, None)
    caller.scene.bell.store.rewinds.add(compare([known], {}, datetime.now(UTC), worker.id))
    assert caller.same("workers.rewinds")[0].run == known.id
    for verb in ("drain_worker", "resume_worker", "workers.drain", "workers.resume"):
        caller.same(verb, worker.id)
    caller.scene.bell.store.workers.remove([worker.id])
    for pause, resume in (("pause", "resume"), ("pauses.pause", "pauses.resume")):
        for what in ({"queue": "slow"}, {"job": "send"}):
            caller.do(pause, **what)
            caller.same("pauses")
            caller.do(resume, **what)
    names = [one.name for one in caller.scene.bell.queues.list()]
    assert [one.name for one in caller.do("queues.list")] == names
    assert caller.do("queues.scale") is not None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_list_is_read_page_by_page_where_its_answer_has_a_cursor(operation: Operation[Any]) -> None:
    answer = get_origin(operation.answer) or operation.answer
    assert is_paged(operation) is ("next" in getattr(answer, "__struct_fields__", ()))
    if is_paged(operation):
        words = [] if operation.query is None else [field.name for field in msgspec.structs.fields(operation.query)]
        assert "limit" in words
        assert {"before", "after"} & {*words}
