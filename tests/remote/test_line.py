"""The line: deadlines, retries with one idempotency key, what is said when nothing answers, and no token anywhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import pytest

import workbell
from tests.support.inside.remote import run_plans as steering
from tests.support.inside.remote import tries
from tests.unit.makers import run_in
from workbell import Client, Status

URL = "https://bells.example.com"
TOKEN = "wb_a-very-secret-text"
EMPTY = {"items": [], "next": None}

Answer = httpx2.Response | Exception


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "FIRST_PAUSE", 0.0)


class Scripted:
    """A service that gives these answers, one after the other, and the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []
        self.client = Client(URL, TOKEN, transport=httpx2.MockTransport(self.answer))

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        # A response is used up by being read.
        return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.requests]


def ok(value: Any = EMPTY) -> httpx2.Response:
    return httpx2.Response(200, json=value)


def problem(status: int, name: str, **headers: str) -> httpx2.Response:
    told = {"type": f"urn:workbell:error:{name}", "title": "T", "status": status, "detail": "Words."}
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    return httpx2.Response(status, json=told, headers={"content-type": "application/problem+json", **given})


def both(scene: Scripted, verb: str, *args: Any) -> list[Callable[[], Any]]:
    """The verb and its async twin."""
    return [lambda: getattr(scene.client, verb)(*args), lambda: asyncio.run(getattr(scene.client, f"a{verb}")(*args))]


LOST: list[Answer] = [
    httpx2.ConnectError("Connection refused"),
    httpx2.ReadError(""),
    httpx2.ReadTimeout("timed out"),
    httpx2.ConnectTimeout("timed out"),
    httpx2.RemoteProtocolError("Server disconnected without sending a response."),
    httpx2.Response(502, text="<h1>Bad Gateway</h1>"),
    problem(503, "StoreUnavailable", retry_after="0"),
    problem(429, "TooMany", retry_after="0"),
]


@pytest.mark.parametrize("trouble", LOST, ids=str)
@pytest.mark.parametrize("twin", [0, 1], ids=["sync", "async"])
def test_a_lost_answer_is_asked_for_again(trouble: Answer, twin: int) -> None:
    scene = Scripted(trouble, trouble, ok())
    assert both(scene, "pauses")[twin]() == []
    assert len(scene.requests) == 3
    assert scene.keys == [None] * 3  # looking makes nothing


@pytest.mark.parametrize("twin", [0, 1], ids=["sync", "async"])
def test_what_makes_something_carries_the_same_key_at_every_try_and_another_at_every_call(twin: int) -> None:
    made = {"id": "1", "user_id": 7, "data": "hello", "created_at": "2030-01-01T00:00:00Z", "read": False}
    scene = Scripted(httpx2.ReadTimeout(""), httpx2.Response(504), ok(made | {"read_at": None, "unreadable": None}))
    notify = both(scene, "notify", 7, "hello")[twin]
    assert notify().id == "1"
    notify()
    first, *again, other = scene.keys
    assert first is not None
    assert again == [first, first]
    assert other not in (None, first)
    assert len({request.content for request in scene.requests}) == 1


@pytest.mark.parametrize("twin", [0, 1], ids=["sync", "async"])
def test_after_three_tries_it_is_said_what_is_wrong(twin: int) -> None:
    scene = Scripted(httpx2.ConnectError("[Errno 111] Connection refused"))
    with pytest.raises(
        workbell.ServiceUnavailable, match=r"bells\.example\.com: no connection \(\[Errno 111\].*is the"
    ):
        both(scene, "pauses")[twin]()
    assert len(scene.requests) == 3
    scene = Scripted(problem(503, "StoreUnavailable"))
    with pytest.raises(workbell.StoreUnavailable, match=r"^Words\.$"):
        both(scene, "pauses")[twin]()
    assert len(scene.requests) == 3


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(401, "Unauthorized"), workbell.Unauthorized),
        (problem(404, "RunNotFound"), workbell.RunNotFound),
        (problem(429, "TooMany", retry_after="60"), workbell.WorkbellError),
        (problem(500, "InternalError"), workbell.WorkbellError),
        (httpx2.Response(302, headers={"location": "https://elsewhere.example.com"}), workbell.ServiceUnavailable),
        (ok({"unknown": "words"}), workbell.ServiceUnavailable),
        (ok([]), workbell.ServiceUnavailable),
        (httpx2.Response(200, text="<h1>Welcome</h1>"), workbell.ServiceUnavailable),
    ],
)
def test_other_answers_are_final_and_redirects_are_not_followed(answer: httpx2.Response, kind: type[Exception]) -> None:
    scene = Scripted(answer)
    with pytest.raises(kind):
        scene.client.get("x")
    assert [request.url.host for request in scene.requests] == ["bells.example.com"]


HTML = [
    [httpx2.ReadTimeout(""), httpx2.Response(404, html="<h1>Not Found</h1>")],
    [httpx2.Response(200, html="<h1>Sign in</h1>")],
]


@pytest.mark.parametrize("answers", HTML, ids=["lost, then 404", "200"])
def test_a_deletion_is_not_done_because_a_proxy_says_so(answers: list[Answer]) -> None:
    with pytest.raises(workbell.ServiceUnavailable, match=f"{URL}: status [24]0[04] came with text/html"):
        Scripted(*answers).client.schedules.delete("nightly")


def test_a_deletion_whose_answer_was_lost_is_done_when_it_is_gone() -> None:
    scene = Scripted(httpx2.ReadTimeout(""), problem(404, "ScheduleNotFound"))
    scene.client.schedules.delete("nightly")
    with pytest.raises(workbell.ScheduleNotFound):
        scene.client.schedules.delete("nightly")  # not lost: it never was there


def test_every_request_has_deadlines_and_a_long_poll_more_of_it() -> None:
    scene = Scripted(httpx2.ReadTimeout(""))
    for client, connect, read in (
        (scene.client, 5.0, 30.0),
        (Client(URL, timeout=7, connect_timeout=2, transport=httpx2.MockTransport(scene.answer)), 2.0, 7.0),
    ):
        scene.requests.clear()
        with pytest.raises(workbell.ServiceUnavailable, match="no answer in time"):
            client.pauses()
        with pytest.raises(workbell.ServiceUnavailable):
            client.wait("x", 3)
        looked, *_, polled = (request.extensions["timeout"] for request in scene.requests)
        assert looked == {"connect": connect, "pool": connect, "read": read, "write": read}
        assert read + 2 < polled["read"] <= read + 3


def test_names_may_have_anything_in_them() -> None:
    scene = Scripted(problem(404, "ScheduleNotFound"))
    with pytest.raises(workbell.ScheduleNotFound):
        scene.client.schedules.get("a/b?c#d %é")
    assert scene.requests[0].url.raw_path == b"/api/v1/schedules/a%2Fb%3Fc%23d%20%25%C3%A9"


def test_the_tenant_goes_with_every_request() -> None:
    scene = Scripted(ok())
    scene.client.for_tenant("acme").pauses()
    scene.client.pauses()
    assert [request.url.params.get("tenant") for request in scene.requests] == ["acme", None]


def test_the_token_is_sent_and_nowhere_to_be_seen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene = Scripted(httpx2.ConnectError(""))
    with pytest.raises(workbell.ServiceUnavailable) as caught:
        scene.client.enqueue("send")
    assert scene.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    seen = [repr(scene.client), repr(caught.value), str(caught.value), caplog.text, repr(scene.requests[0].headers)]
    assert not [text for text in seen if TOKEN in text]
    assert caught.value.__cause__ is None


def test_a_closed_client_says_so() -> None:
    scene = Scripted(ok())
    with scene.client as client:
        assert client.pauses() == []
    with pytest.raises(workbell.WorkbellError, match="closed"):
        client.pauses()


@pytest.mark.anyio
async def test_an_async_block_closes_it_too() -> None:
    scene = Scripted(ok())
    async with scene.client as client:
        assert await client.apauses() == []
    with pytest.raises(workbell.WorkbellError, match="closed"):
        await client.apauses()


def run_words(status: str) -> dict[str, Any]:
    run = run_in(Status(status), id="1")
    found: dict[str, Any] = msgspec.to_builtins(run.as_dict() | {"retried_by": None})
    return found


@pytest.mark.parametrize("twin", [0, 1], ids=["sync", "async"])
def test_a_wait_that_has_begun_outlives_an_outage(twin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steering, "REST", 0.0)
    monkeypatch.setattr(steering, "PACE", 0.0)
    outage = [httpx2.ConnectError("")] * 7
    scene = Scripted(ok(run_words("running")), *outage, ok(run_words("running")), ok(run_words("succeeded")))
    run = scene.client.wait("1") if twin == 0 else asyncio.run(scene.client.await_("1"))
    assert run.status == "succeeded"
    assert len(scene.requests) == 10
    assert {request.url.params["wait"] for request in scene.requests} == {"25.0"}


def test_a_wait_that_cannot_begin_says_so_at_once() -> None:
    with pytest.raises(workbell.ServiceUnavailable):
        Scripted(httpx2.ConnectError("")).client.wait("1", 60)
    with pytest.raises(workbell.RunNotFound, match="Words"):
        Scripted(problem(404, "RunNotFound")).client.wait("1", 60)


def test_a_wait_ends_with_its_time_or_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steering, "PACE", 0.0)
    with pytest.raises(workbell.WaitTimeout, match=r"run 1 did not end within 0 s; ask client\.why"):
        Scripted(ok(run_words("running"))).client.wait("1", 0)
    with pytest.raises(workbell.RunNotFound, match="removed while it was waited for"):
        Scripted(ok(run_words("running")), problem(404, "RunNotFound")).client.wait("1", 60)


def test_watching_tells_of_every_change_until_the_end() -> None:
    script = ["queued", "queued", "running", "running", "succeeded"]
    scene = Scripted(*(ok(run_words(status)) for status in script))
    assert [run.status for run in scene.client.watch("1", pace=1e-6)] == ["queued", "running", "succeeded"]
    with pytest.raises(workbell.InvalidOption, match="pace"):
        next(scene.client.watch("1", pace=0))


@pytest.mark.anyio
async def test_async_code_watches_too() -> None:
    script = ["queued", "queued", "running", "running", "succeeded"]
    scene = Scripted(*(ok(run_words(status)) for status in script))
    async with scene.client as client:
        assert [run.status async for run in client.awatch("1", pace=1e-6)] == ["queued", "running", "succeeded"]
        with pytest.raises(workbell.InvalidOption, match="pace"):
            await anext(client.runs.awatch("1", pace=0))
