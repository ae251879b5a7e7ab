"""Connections to the WebSocket `/ws`: who is let in, what is refused, limits, and the end of the server (B5, S8)."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

import httpx2
import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.integration.sockets.raw_client import closed_with, handshake, never_reading
from tests.support.inside.http import Allowance, OpenLimit, access_watch, hub, views
from tests.support.inside.values import Settings
from tests.support.served import Served, served
from tests.support.waiting import until
from workbell import StoreUnavailable, Workbell

pytestmark = pytest.mark.anyio


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


async def test_a_refused_handshake_is_no_error_in_the_log(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    """A stranger could fill the log with them."""
    caplog.set_level(logging.DEBUG)
    ticket = server.ticket(1)
    for text, headers in (("nonsense", {}), (ticket, {"Origin": "https://evil.example"})):
        assert await handshake(server, text, headers) == 403
    lines = [record for record in caplog.records if record.getMessage() == "WebSocket /ws was refused"]
    assert [(record.levelno, vars(record)["status"]) for record in lines] == [(logging.INFO, 403)] * 2
    assert max(record.levelno for record in caplog.records) == logging.INFO
    assert ticket not in caplog.text, "it is good for half a minute"


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
    monkeypatch.setattr(access_watch, "RECHECK", 0.05)
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
            assert "You have 2 connections open" in told["message"]
            await closed_with(talk, 1013)
        async with server.client(person + 1):
            async with server.open(server.ticket(person + 2)) as talk:
                assert "Tenant default has 3 connections open" in (await talk.hear())["message"]
                await closed_with(talk, 1013)
            async with server.open(server.ticket(person, tenant="third")) as talk:
                assert "There are 4 connections open" in (await talk.hear())["message"]
                await closed_with(talk, 1013)
    until(lambda: not len(server.service.hub), "everybody to be gone")
    async with server.client(person), server.client(person):
        pass


async def test_one_tenant_does_not_take_the_views_of_another(
    server: Served, person: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "VIEWS", OpenLimit("different views", 3, 5, 7, "close a page"))
    async with (
        server.client(person) as ada,
        server.client(person) as ada_too,
        server.client(person + 1) as bob,
        server.client(person, tenant="other") as other,
    ):
        for number, talk in enumerate((ada, ada, ada_too, bob, bob)):
            await talk.subscribe("runs", f"v{number}", tag=f"tag-{number}")
        await ada_too.say(type="subscribe", id="x", topic="runs", tag="more")
        told = await ada_too.hear()
        assert (told["code"], told["id"]) == ("TooMany", "x")
        assert "you have 3 different views open, as many as one caller may; close a page" in told["message"]
        await bob.say(type="subscribe", id="x", topic="runs", tag="more")
        assert "tenant default has 5 different views open" in (await bob.hear())["message"]
        await bob.subscribe("runs", "shared", tag="tag-0")  # one that is open costs nothing, of those one may look at
        for topic in ("jobs", "schedules"):
            await other.subscribe(topic, topic)
        await other.say(type="subscribe", id="x", topic="events")
        assert "there are 7 different views open on this server" in (await other.hear())["message"]
        await ada.say(type="unsubscribe", id="v0")  # it stays open: bob looks at it
        assert (await ada.hear())["type"] == "unsubscribed"
        await ada.subscribe("runs", "again", tag="tag-2")
        await bob.say(type="unsubscribe", id="v3")
        assert (await bob.hear())["type"] == "unsubscribed"
        await bob.subscribe("runs", "x", tag="more")


async def test_who_sends_too_fast_is_read_slower(server: Served, person: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is answered; and somebody else is not slowed down by it."""
    monkeypatch.setattr(hub, "OF_CALLER", Allowance(50, 5))
    monkeypatch.setattr(server.service.hub, "frames", hub.FrameRates())
    loop = asyncio.get_running_loop()
    async with server.client(person) as fast, server.client(person + 1) as other:
        began = loop.time()
        for _ in range(15):
            await fast.say(type="ping")
        for _ in range(15):
            assert await fast.hear() == {"type": "pong"}
        assert loop.time() - began >= 9.5 / 50
        await other.say(type="ping")
        assert await other.hear() == {"type": "pong"}


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


async def test_where_the_store_is_stays_in_the_log(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("PostgreSQL at db.internal:5432/jobs cannot be reached.")

    async with server.client(tenant="other") as talk:
        monkeypatch.setattr(server.bell.store.schedules, "list", broken)
        await talk.say(type="subscribe", id="a", topic="schedules")
        told = await talk.hear()
        assert (told["type"], told["code"], told["id"]) == ("error", "StoreUnavailable", "a")
        assert "internal" not in told["message"]
        assert "db.internal" in caplog.text


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
