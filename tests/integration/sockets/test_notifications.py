"""Notifications over the WebSocket `/ws`: to one person, to all, missed ones, and slow readers (B5, S8)."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest

from tests.integration.sockets.raw_client import never_reading
from tests.support.inside.features import LocalClient
from tests.support.inside.http import hub, notification_body, notifier
from tests.support.inside.values import Notification
from tests.support.served import Served
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

LAST = 99  # tells that there is no more to come
CLIENTS = 1000 if os.environ.get("WORKBELL_SOAK") else 200


@pytest.mark.usefixtures("worker_elsewhere")
async def test_a_broadcast_from_a_worker_elsewhere_reaches_all_and_none_twice(
    server: Served, person: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[Notification] = []
    monkeypatch.setattr(hub, "notification_body", lambda new: (encoded.append(new), notification_body(new))[1])
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


async def shout(bell: LocalClient, first: int, last: int) -> None:
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
