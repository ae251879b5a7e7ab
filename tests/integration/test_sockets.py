"""The WebSocket `/ws`, with a real server and real clients: who is let in, and what they are told (B5, S8)."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import httpx2
import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.processes import Site
from tests.support.served import Served, served
from tests.support.waiting import until
from workbell import Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.client.client import Client
from workbell.http.sockets import hub, notifier
from workbell.http.sockets.feed import body_of
from workbell.model.log_line import LogLine
from workbell.model.notification import Notification
from workbell.settings import Settings
from workbell.stores.port import Held

pytestmark = pytest.mark.anyio

LAST = 99  # tells that there is no more to come
CLIENTS = 1000 if os.environ.get("WORKBELL_SOAK") else 200


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all; each test has people and tenants of its own."""
    settings = Settings(url=f"sqlite:///{tmp_path_factory.mktemp('sockets') / 'workbell.db'}", http_port=0)
    with Workbell(settings=settings) as bell:

        @bell.job
        def send(to: str) -> None: ...

        @bell.job
        def shout(first: int, last: int) -> None: ...

        @bell.job
        def whisper(user_id: int) -> None: ...

        with served(bell) as made:
            yield made


@pytest.fixture(scope="module")
def worker_elsewhere(shared: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A process of its own, with a Workbell of its own on the same file."""
    with Site(tmp_path_factory.mktemp("elsewhere"), shared.bell.settings.url) as site:
        site.start(program="shouting_app")
        yield


@pytest.fixture
def server(shared: Served) -> Iterator[Served]:
    yield shared
    shared.service.settings = shared.bell.settings
    until(lambda: not len(shared.service.hub), "everybody to be gone")
    until(lambda: not len(shared.service.hub.views), "every view to be forgotten")


@pytest.fixture
def person(request: pytest.FixtureRequest) -> int:
    """Nobody else's number."""
    return abs(hash(request.node.nodeid)) % 2**40


# Who is let in


async def test_a_ticket_over_http(server: Served, person: int) -> None:
    token, text = server.bell.tokens.create("ada", scopes=["read"], user_id=person)
    async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as client:
        refused = await client.post("/api/v1/sockets/tickets")
        made = await client.post("/api/v1/sockets/tickets", headers={"Authorization": f"Bearer {text}"})
        no_upgrade = await client.get("/ws")
    assert refused.status_code == 401
    assert made.status_code == 201
    assert no_upgrade.status_code == 426
    async with server.open(made.json()["ticket"]) as talk:
        assert await talk.hear() == {"type": "connected"}
        (connected,) = server.service.hub.connections
        assert (connected.access.user_id, connected.access.token) == (person, token.id)
        assert connected.access.scopes == {"read"}


@pytest.mark.parametrize(
    ("name", "value"), [("Origin", "https://evil.example"), ("Origin", "null"), ("Host", "evil.example")]
)
async def test_a_foreign_page_is_refused_before_it_is_connected(server: Served, name: str, value: str) -> None:
    ticket = server.ticket(1)
    status = await handshake(server, ticket, {name: value})
    assert status == 403
    assert await handshake(server, ticket, {}) == 101, "the ticket was used up by one who was not let in"


async def test_a_page_of_this_very_server_is_let_in(server: Served) -> None:
    assert await handshake(server, server.ticket(1), {"Origin": f"http://{server.host}"}) == 101


async def test_a_ticket_is_good_once(server: Served) -> None:
    ticket = server.ticket(1)
    async with server.open(ticket) as talk:
        assert await talk.hear() == {"type": "connected"}
        await refused(server, ticket)
    await refused(server, ticket)


async def test_a_ticket_that_is_over_or_was_never_one(server: Served) -> None:
    token, text = server.bell.tokens.create("not a ticket")
    for ticket in ("", "nonsense", text, server.ticket(1, expires=timedelta(microseconds=1))):
        await refused(server, ticket)
    assert server.bell.tokens.check(text) == token, "it was used up"


async def test_who_has_a_token_that_is_revoked_is_cut(
    server: Served, person: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "RECHECK", 0.05)
    gone, kept = (server.bell.tokens.create(name, user_id=person).token for name in ("gone", "kept"))
    everywhere = server.bell.tokens.create("everywhere", tenant="*", user_id=person).token
    async with (
        server.client(person, created_by=gone.id) as cut,
        server.client(person, created_by=kept.id) as stays,
        server.client(person, created_by=everywhere.id) as stays_too,
    ):
        server.bell.tokens.revoke(gone.id)
        with pytest.raises(ConnectionClosed) as closed:
            await cut.hear()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "your token is not valid any more")
        for talk in (stays, stays_too):
            await talk.say(type="ping")
            assert await talk.hear() == {"type": "pong"}


async def test_nobody_may_have_too_many(server: Served, person: int) -> None:
    server.service.settings = msgspec.structs.replace(server.bell.settings, sockets=4, sockets_per_user=2)
    async with server.client(person), server.client(person), server.client(person, tenant="other"):
        async with server.open(server.ticket(person)) as talk:
            told = await talk.hear()
            assert (told["type"], told["code"]) == ("error", "TooMany")
            assert "you have 2 connections" in told["message"]
            await closed_with(talk, 1013)
        async with server.client(person + 1), server.open(server.ticket(person + 2)) as talk:
            assert "there are 4 connections" in (await talk.hear())["message"]
            await closed_with(talk, 1013)
    until(lambda: not len(server.service.hub), "everybody to be gone")
    async with server.client(person), server.client(person):
        pass


# Notifications


@pytest.mark.usefixtures("worker_elsewhere")
async def test_a_broadcast_from_a_worker_elsewhere_reaches_all_and_none_twice(
    server: Served, person: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[Notification] = []
    monkeypatch.setattr(hub, "body_of", lambda new: (encoded.append(new), body_of(new))[1])
    monkeypatch.setattr(notifier, "THOROUGH", 0.0)  # every look finds everything again
    server.service.settings = msgspec.structs.replace(server.bell.settings, sockets_per_user=CLIENTS)
    bell = server.bell.for_tenant(f"all-{person}")
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        ready = asyncio.Semaphore(0)
        listening = [
            group.create_task(numbers_until_the_last(server, person, bell.tenant, ready)) for _ in range(CLIENTS)
        ]
        for _ in range(CLIENTS):
            await ready.acquire()
        await shout(bell, 0, 19)
        await bell.abroadcast(20)  # from the server's own process, which hears of it at once, and finds it too
        await shout(bell, LAST, LAST)
    for task in listening:
        assert sorted(task.result()) == [*range(21), LAST]
    assert sorted(one.data for one in encoded) == [*range(21), LAST], "each is encoded once for all"


async def shout(bell: Client, first: int, last: int) -> None:
    """From the worker elsewhere."""
    run = await bell.aenqueue("shout", {"first": first, "last": last})
    assert (await bell.await_(run.id, 60)).status == "succeeded"


DOOR = asyncio.Semaphore(8)


async def numbers_until_the_last(server: Served, person: int, tenant: str, ready: asyncio.Semaphore) -> list[Any]:
    ticket = await asyncio.to_thread(server.ticket, person, tenant=tenant)
    async with AsyncExitStack() as stack:
        async with (
            DOOR
        ):  # all at once, on a busy machine, they would not say what they want within the server's deadline
            talk = await stack.enter_async_context(server.open(ticket))
            assert await talk.hear() == {"type": "connected"}
        assert (await talk.subscribe("notifications"))["items"] == []
        ready.release()
        heard: list[Any] = []
        while LAST not in heard:
            heard += [item["data"] for item in (await talk.hear_of("a"))["items"]]
        return heard


@pytest.mark.usefixtures("worker_elsewhere")
async def test_from_an_isolated_handler_it_comes_once(server: Served, person: int) -> None:
    bell = server.bell.for_tenant(f"inside-{person}")
    async with server.client(person, tenant=bell.tenant) as talk:
        await talk.subscribe("notifications")
        run = await bell.aenqueue("whisper", {"user_id": person})
        await bell.await_(run.id, 60)
        await shout(bell, LAST, LAST)
        heard = [(await talk.hear_of("a"))["items"][0]["data"] for _ in range(2)]
    assert heard == ["from inside", LAST]
    assert [one.data for one in bell.notifications.list(person)] == [LAST, "from inside"]


async def test_a_person_with_a_text_for_an_id(server: Served, person: int) -> None:
    bell = server.bell.for_tenant(f"text-{person}")
    told = bell.notify("ada", 1).id
    bell.notify("bob", 2)
    async with server.client("ada", tenant=bell.tenant) as talk:
        assert await unread(talk, 1) == [told]
        bell.notify("bob", 3)
        new = bell.notify("ada", 4)
        (item,) = (await talk.hear_of("a"))["items"]
        assert (item["id"], item["user_id"]) == (new.id, "ada")


async def test_what_was_missed_is_there_and_can_be_marked_as_read(server: Served, person: int) -> None:
    bell = server.bell.for_tenant(f"missed-{person}")
    told = [bell.notify(person, number).id for number in range(3)]
    async with server.client(person, tenant=bell.tenant) as talk:
        assert await unread(talk, 3) == told
        await talk.say(type="read", ids=[told[1], "nonsense"])
        assert await talk.hear() == {"type": "read", "count": 1}
        new = bell.notify(person, 3).id
        assert [item["id"] for item in (await talk.hear_of("a"))["items"]] == [new]
        await talk.say(type="unsubscribe", id="a")
        assert await talk.hear() == {"type": "unsubscribed", "id": "a"}
        assert (await talk.subscribe("notifications", "b"))["items"] == [], "none comes twice over a connection"
    async with server.client(person, tenant=bell.tenant) as talk:
        assert await unread(talk, 3) == [told[0], told[2], new]
        await talk.say(type="read")
        assert await talk.hear() == {"type": "read", "count": 3}
    async with server.client(person, tenant=bell.tenant) as talk:
        assert await unread(talk, 1) == []


async def unread(talk: Any, most: int) -> list[str]:
    items = (await talk.subscribe("notifications"))["items"]
    while items and len(items) < most:
        items += (await talk.hear_of("a"))["items"]
    return [item["id"] for item in items]


async def test_only_the_newest_of_many_unread_ones(server: Served, person: int) -> None:
    tenant = server.bell.for_tenant(f"many-{person}")
    told = [tenant.notify(person, number).id for number in range(103)]
    async with server.client(person, tenant=tenant.tenant) as talk:
        assert await unread(talk, 100) == told[3:]


async def test_nobody_hears_what_is_for_others(server: Served, person: int) -> None:
    async with server.client(person, tenant="mine") as talk, server.client(person, tenant="theirs") as other:
        for each in (talk, other):
            await each.subscribe("notifications")
        server.bell.for_tenant("theirs").notify(person, "theirs")
        server.bell.for_tenant("theirs").broadcast("all of them")
        server.bell.for_tenant("mine").notify(person + 1, "another person's")
        server.bell.for_tenant("mine").notify(person, "mine")
        assert (await talk.hear_of("a"))["items"][0]["data"] == "mine"
        assert [(await other.hear_of("a"))["items"][0]["data"] for _ in range(2)] == ["theirs", "all of them"]


async def test_who_reads_too_slowly_is_cut_and_the_others_do_not_wait(server: Served, person: int) -> None:
    tenant = server.bell.for_tenant(f"slow-{person}")
    async with server.client(person, tenant=tenant.tenant) as quick:
        await quick.subscribe("notifications")
        slow = await never_reading(server, server.ticket(person + 1, tenant=tenant.tenant))
        try:
            until(lambda: len(server.service.hub.listeners) == 2, "the slow one to be there")
            count = 0
            while len(server.service.hub.listeners) == 2:
                await tenant.abroadcast({"number": count, "padding": "x" * 200_000})
                assert (await quick.hear_of("a"))["items"][0]["data"]["number"] == count
                count += 1
                assert count < 500, "the slow one is still there"
            assert await is_closed_with(slow, 1013)
        finally:
            slow.close()
        await tenant.abroadcast({"number": "last"})
        assert (await quick.hear_of("a"))["items"][0]["data"] == {"number": "last"}


async def never_reading(server: Served, ticket: str) -> socket.socket:
    """A client that subscribes and then takes nothing; with a small buffer, which is soon full."""
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    host, port = server.host.split(":")
    await loop.sock_connect(sock, (host, int(port)))
    await loop.sock_sendall(sock, request_of(server, ticket, {}))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await loop.sock_recv(sock, 1000)
    text = b'{"type":"subscribe","id":"a","topic":"notifications"}'
    await loop.sock_sendall(sock, bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)  # masked with zeros
    return sock


async def is_closed_with(sock: socket.socket, code: int) -> bool:
    """Whether a close frame stands behind all that was sent before."""
    loop, found, wanted = asyncio.get_running_loop(), b"", code.to_bytes(2) + b"you read too slowly"
    async with asyncio.timeout(30):
        while wanted not in found:
            new = await loop.sock_recv(sock, 100_000)
            if not new:
                return False
            found = (found + new)[-200_000:]
    return True


# Live views


async def test_runs_as_they_go_on(server: Served, person: int) -> None:
    bell = server.bell
    tag = f"tag-{person}"
    before = bell.enqueue("send", {"to": "a"}, tag=tag)
    bell.enqueue("send", {"to": "other"}, tag="another")
    async with server.client() as talk:
        first = await talk.subscribe("runs", tag=tag)
        assert [item["id"] for item in first["items"]] == [before.id]
        assert first["items"] == [msgspec.to_builtins(before.as_dict()) | {"retried_by": None}]
        after = bell.enqueue("send", {"to": "b"}, tag=tag)
        changes = await talk.hear_of("a")
        assert [item["id"] for item in changes["items"]] == [after.id], "only what has changed is told"
        bell.cancel(before.id)
        changes = await talk.hear_of("a")
        assert [(item["id"], item["status"]) for item in changes["items"]] == [(before.id, "canceled")]
        queued = await talk.subscribe("runs", "q", tag=tag, status=["queued"], input={"to": "b"})
        assert [item["id"] for item in queued["items"]] == [after.id]
        bell.cancel(after.id)
        told = {heard["id"]: heard for heard in [await talk.hear(), await talk.hear()]}
        assert told["q"]["removed"] == [after.id]
        assert [item["status"] for item in told["a"]["items"]] == ["canceled"]


async def test_those_who_look_at_the_same_share_a_view(server: Served) -> None:
    async with server.client() as one, server.client() as two, server.client(tenant="other") as three:
        await one.subscribe("runs", status=["queued", "running"])
        await two.subscribe("runs", status=["running", "queued", "queued"])
        assert len(server.service.hub.views) == 1
        await three.subscribe("runs", status=["queued", "running"])
        await two.subscribe("runs", "b")
        assert len(server.service.hub.views) == 3
        await two.say(type="unsubscribe", id="b")
        assert await two.hear() == {"type": "unsubscribed", "id": "b"}
        assert len(server.service.hub.views) == 2


async def test_one_run_with_its_progress_and_its_lines(server: Served, person: int) -> None:
    bell = server.bell.for_tenant(f"run-{person}")
    store, now = bell.store, bell.store.clock.now()
    run = bell.enqueue("send", {"to": "a"})
    claimant = Claimant("w1", timedelta(seconds=30), lambda lane: lane.tenant == bell.tenant)
    (run,) = FairClaims(store).claim(claimant, 1, now)
    lines = [LogLine(run.id, 1, number, now, "INFO", f"line {number}") for number in range(3)]
    store.logs.add([(run.token, lines[0])])
    async with server.client(tenant=bell.tenant) as talk:
        first = await talk.subscribe("run", run=run.id)
        assert [item["status"] for item in first["items"]] == ["running"]
        assert [line["message"] for line in first["logs"]] == ["line 0"]
        store.logs.add([(run.token, line) for line in lines[1:]])
        store.runs.set_progress(Held(run.id, run.token), '{"done":1,"total":2,"message":"half"}')
        heard = [await talk.hear_of("a")]
        while not (any(one.get("logs") for one in heard) and any(one["items"] for one in heard)):
            heard.append(await talk.hear_of("a"))
        assert [line["message"] for one in heard for line in one.get("logs", [])] == ["line 1", "line 2"]
        assert [one["items"][0]["progress"]["done"] for one in heard if one["items"]] == [1]


async def test_jobs_and_schedules(server: Served) -> None:
    bell = server.bell
    async with server.client() as talk:
        jobs = await talk.subscribe("jobs", "jobs")
        assert "send" in [job["name"] for job in jobs["items"]]
        bell.pause(job="send")
        assert [(job["name"], job["paused"]) for job in (await talk.hear_of("jobs"))["items"]] == [("send", True)]
        bell.resume(job="send")
        assert [job["paused"] for job in (await talk.hear_of("jobs"))["items"]] == [False]
    async with server.client() as talk:
        assert (await talk.subscribe("schedules"))["items"] == []
        bell.schedules.put("nightly", job="send", cron="0 3 * * *", payload={"to": "x"})
        assert [one["name"] for one in (await talk.hear_of("a"))["items"]] == ["nightly"]
        bell.schedules.delete("nightly")
        assert (await talk.hear_of("a"))["removed"] == ["nightly"]


# What is refused


@pytest.mark.parametrize(
    ("said", "code", "why"),
    [
        ({"type": "subscribe", "topic": "jobs"}, "InvalidOption", "not a message of the protocol"),
        ({"type": "sing"}, "InvalidOption", "not a message of the protocol"),
        (
            {"type": "subscribe", "id": "a", "topic": "jobs", "tag": "x"},
            "InvalidOption",
            "the topic jobs does not know",
        ),
        ({"type": "subscribe", "id": "a", "topic": "runs", "status": "lazy"}, "InvalidOption", "the statuses are"),
        ({"type": "subscribe", "id": "a", "topic": "run"}, "InvalidOption", "needs the id of a run"),
        ({"type": "subscribe", "id": "a", "topic": "run", "run": "x"}, "RunNotFound", "There is no run"),
        ({"type": "subscribe", "id": "a", "topic": "runs", "schedule": "x"}, "ScheduleNotFound", "x"),
        ({"type": "subscribe", "id": "a", "topic": "notifications"}, "Forbidden", "belongs to no person"),
        ({"type": "read"}, "Forbidden", "belongs to no person"),
        ({"type": "unsubscribe", "id": "a"}, "InvalidOption", "there is no subscription"),
        ({"type": "subscribe", "id": "taken", "topic": "jobs"}, "InvalidOption", "there is a subscription"),
    ],
)
async def test_an_error_is_told_and_the_connection_goes_on(
    server: Served, said: dict[str, Any], code: str, why: str
) -> None:
    async with server.client() as talk:
        await talk.subscribe("schedules", "taken")
        await talk.say(**said)
        told = await talk.hear()
        assert (told["type"], told["code"], told.get("id")) == ("error", code, said.get("id"))
        assert why in told["message"]
        await talk.say(type="ping")
        assert await talk.hear() == {"type": "pong"}


async def test_what_is_no_json(server: Served) -> None:
    async with server.client() as talk:
        for nonsense in ("{", "[]", "7", '"x"', b"\xff", "[" * 5000):
            await talk.socket.send(nonsense)
            assert (await talk.hear())["code"] == "InvalidOption"


async def test_others_runs_are_not_there_and_scopes_are_needed(server: Served, person: int) -> None:
    run = server.bell.enqueue("send", {"to": "a"})
    async with server.client(tenant="other") as talk:
        await talk.say(type="subscribe", id="a", topic="run", run=run.id)
        assert (await talk.hear())["code"] == "RunNotFound"
        assert (await talk.subscribe("runs"))["items"] == []
    async with server.client(person, scopes=["enqueue"]) as talk:
        await talk.say(type="subscribe", id="a", topic="runs")
        assert (await talk.hear())["code"] == "Forbidden"
        await talk.subscribe("notifications")


async def test_limits_of_one_connection(server: Served) -> None:
    async with server.client() as talk:
        for number in range(20):
            await talk.subscribe("jobs", str(number))
        await talk.say(type="subscribe", id="one more", topic="jobs")
        assert (await talk.hear())["code"] == "TooMany"
        await talk.socket.send("x" * (64 * 1024 + 1))
        await closed_with(talk, 1009)


# The end


async def test_the_server_stops_and_nobody_is_waited_for(sqlite_url: str, person: int) -> None:
    with Workbell(settings=Settings(url=sqlite_url, http_port=0)) as bell, served(bell) as server:
        slow = await never_reading(server, server.ticket(person))
        try:
            async with server.client(person) as talk:
                await talk.subscribe("runs")
                await talk.subscribe("notifications", "b")
                await bell.abroadcast("x" * 200_000)
                await talk.hear_of("b")
                await asyncio.to_thread(server.stop)
                await closed_with(talk, 1001)
        finally:
            slow.close()


# How it is asked


async def refused(server: Served, ticket: str) -> None:
    with pytest.raises(InvalidStatus) as error:
        async with server.open(ticket):
            pass
    assert error.value.response.status_code == 403
    assert b"The ticket is not valid" in (error.value.response.body or b"")


async def closed_with(talk: Any, code: int) -> None:
    with pytest.raises(ConnectionClosed) as closed:
        await talk.hear_all()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


async def handshake(server: Served, ticket: str, headers: dict[str, str]) -> int:
    """The status of the answer to a handshake with these headers."""
    reader, writer = await asyncio.open_connection(*server.host.split(":"))
    try:
        writer.write(request_of(server, ticket, headers))
        async with asyncio.timeout(30):
            return int((await reader.readline()).split()[1])
    finally:
        writer.close()
        await writer.wait_closed()


def request_of(server: Served, ticket: str, headers: dict[str, str]) -> bytes:
    all_of_them = {
        "Host": server.host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    } | headers
    lines = [f"GET /ws?ticket={ticket} HTTP/1.1", *(f"{name}: {value}" for name, value in all_of_them.items())]
    return "\r\n".join([*lines, "", ""]).encode()
