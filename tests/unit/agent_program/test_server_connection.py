"""Requests of an agent on a real network: each is sent once, and only the server's own refusals are believed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.certificates import Authority
from tests.support.receiver import Reader, Receiver, Writer, receiving
from workbell.agent_program import server_connection, start
from workbell.agent_program.config import AgentConfig, AgentFolder
from workbell.agent_program.refusals import REFUSALS, Refused
from workbell.agent_program.server_connection import ServerConnection
from workbell.errors import LeaseLost, ServiceUnavailable, SettingsError, TooMany, Unauthorized, WorkbellError
from workbell.remote.address import address_of
from workbell.remote.asking import call_of
from workbell.version import __version__
from workbell.wire import agents
from workbell.wire.agents import HeartbeatBody, HeldLease, LeaseShown, LeasesShown

pytestmark = pytest.mark.anyio

JSON, PROBLEM = "application/json", "application/problem+json"
AGENT = {"id": "a", "name": "till-1", "tenant": "default", "labels": [], "jobs": None, "version": "", "host": ""}
AGENT |= {"metrics": None, "enabled": True, "alive": True, "seen_at": None}
AGENT |= {"created_at": "2026-11-16T09:00:00Z", "unreadable": None}
PAIRED = msgspec.json.encode({"agent": AGENT | {"new": 1}, "token": "wb_own"})
HELD = HeldLease(id="1", token=2)
HEARTBEAT = call_of(
    agents.heartbeat, body=HeartbeatBody(session="s", lease=30.0, holding=[HELD], metrics={"running": 1})
)


def answer(status: int, kind: str, content: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        kind.encode(),
        len(content),
        content,
    )


def problem(name: str, status: int = 409) -> bytes:
    return answer(status, PROBLEM, msgspec.json.encode({"type": f"urn:workbell:error:{name}", "detail": "No."}))


async def both(receiver: Receiver) -> list[LeasesShown | WorkbellError]:
    """What a heartbeat brings from the event loop and from a thread."""
    connection = ServerConnection(address_of(f"http://127.0.0.1:{receiver.port}"), "wb_x")
    found: list[LeasesShown | WorkbellError] = []
    for sending in (connection.asend(HEARTBEAT), asyncio.to_thread(connection.send, HEARTBEAT)):
        try:
            found.append(await sending)
        except WorkbellError as error:
            found.append(error)
    await connection.aclose()
    return found


async def test_a_request_names_the_agents_program_and_has_no_key() -> None:
    """Its answers must not be kept by the server: a poll that is sent again asks anew."""
    async with receiving(
        answer(200, JSON, b'{"runs":[{"id":"1","token":2,"held":true,"lease_until":null,"cancel":null,"new":3}]}')
    ) as receiver:
        found = await both(receiver)
    assert found == [LeasesShown(runs=[LeaseShown(id="1", token=2, held=True, lease_until=None, cancel=None)])] * 2
    for sent in receiver.requests:
        assert (sent.method, sent.path) == ("POST", "/api/v1/agents/self/heartbeat")
        assert sent.header("authorization") == "Bearer wb_x"
        assert sent.header("user-agent") == f"workbell-agent/{__version__}"
        assert sent.header("idempotency-key") is None
        holding = [{"id": "1", "token": 2}]
        body = {"session": "s", "lease": 30.0, "holding": holding, "metrics": {"running": 1}}
        assert msgspec.json.decode(sent.body) == body


async def cut(_reader: Reader, writer: Writer) -> None:
    writer.close()


LATER = [
    answer(503, PROBLEM, b"{}"),
    answer(429, JSON, b"{}"),
    problem("Unheard", 401),
    *(problem("InvalidRequest", status) for status in (302, 401, 403, 404, 408, 409, 425, 500, 502, 503, 504)),
    *(problem(name, 503) for name in ("Unauthorized", "LeaseLost", "RunNotFound", "TooLarge", "InvalidOption")),
    cut,
]


@pytest.mark.parametrize("reply", LATER)
async def test_whatever_is_no_refusal_is_later_and_nothing_is_sent_again(reply: Any) -> None:
    """The backoff of the program says when. A problem that only a newer server knows is not final either."""
    async with receiving(reply) as receiver:
        found = await both(receiver)
    assert [type(error) for error in found] == [ServiceUnavailable] * 2
    assert len(receiver.requests) == 2, "one for each of the two"


OWN_STATUS = {"Unauthorized": 401, "Forbidden": 403, "AgentNotFound": 404, "RunNotFound": 404, "TooMany": 429}
OWN_STATUS |= {"TooLarge": 413, "InvalidRequest": 422, "InvalidOption": 422, "InvalidInput": 422}


@pytest.mark.parametrize("name", sorted(REFUSALS))
async def test_the_servers_own_refusals_by_their_names(name: str) -> None:
    async with receiving(problem(name, OWN_STATUS.get(name, 409))) as receiver:
        found = await both(receiver)
    assert [(type(error), str(error)) for error in found] == [(REFUSALS[name], "No.")] * 2


@pytest.mark.parametrize("name", ["InvalidRequest", "TooLarge", "Unauthorized"])
async def test_too_many_requests_are_no_final_refusal_whatever_the_name(name: str) -> None:
    async with receiving(problem(name, 429)) as receiver:
        found = await both(receiver)
    assert [type(error) for error in found] == [TooMany] * 2


def test_what_the_program_tells_apart() -> None:
    assert (REFUSALS["Unauthorized"], REFUSALS["LeaseLost"]) == (Unauthorized, LeaseLost)
    assert REFUSALS["TooLarge"] is Refused


async def test_a_server_that_says_nothing_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "DEADLINE", 0.05)

    async def silence(reader: Reader, _writer: Writer) -> None:
        await reader.read()

    async with receiving(silence) as receiver:
        found = await both(receiver)
    assert [str(error) for error in found] == [
        f"http://127.0.0.1:{receiver.port} could not be reached: no answer in time."
    ] * 2


async def test_what_goes_to_this_machine_takes_no_way_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with receiving(answer(200, JSON, b'{"runs":[]}')) as receiver:
        assert await both(receiver) == [LeasesShown(runs=[])] * 2


async def test_an_authority_of_ones_own_is_added(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.pem").write_text(authority.pem)
    async with receiving(answer(201, JSON, PAIRED), authority.serving("127.0.0.1")) as receiver:

        def pair(ca_file: str | None) -> tuple[str, str]:
            config = AgentConfig(url=f"https://127.0.0.1:{receiver.port}", labels=("till",), ca_file=ca_file)
            return start.pair(AgentFolder(config, tmp_path), "wb_pairing")

        assert await asyncio.to_thread(pair, "ca.pem") == ("till-1", "wb_own")
        (sent,) = receiver.requests
        body = msgspec.json.decode(sent.body)
        assert (body["token"], body["labels"], body["version"]) == ("wb_pairing", ["till"], __version__)
        assert "name" not in body
        assert sent.header("authorization") is None
        with pytest.raises(ServiceUnavailable, match=r"(?i)certificate"):
            await asyncio.to_thread(pair, None)
        with pytest.raises(SettingsError, match=r"ca_file = 'missing\.pem' cannot be read"):
            await asyncio.to_thread(pair, "missing.pem")
        assert len(receiver.requests) == 1, "nothing was sent to whom nobody vouches for"


async def test_heartbeats_get_through_while_the_event_loop_is_blocked() -> None:
    """Their thread shares the pool and nothing that a handler in the loop could hold."""
    served = asyncio.new_event_loop()
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    here = asyncio.get_running_loop()

    async def serve() -> None:
        async with receiving(answer(200, JSON, b'{"runs":[]}')) as receiver:
            here.call_soon_threadsafe(ready.set_result, receiver.port)
            await receiver.gone.wait()

    serving = asyncio.create_task(asyncio.to_thread(served.run_until_complete, serve()))
    connection = ServerConnection(address_of(f"http://127.0.0.1:{await ready}"), "wb_x")
    assert connection.send(HEARTBEAT) == LeasesShown(runs=[])  # the loop of this test waits for it
    await connection.aclose()
    await serving
    served.close()
