"""The listener for probes: two pages, a deadline for every request, and room for the next one whatever others do."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from workbell.cli.probe import ask
from workbell.errors import SettingsError
from workbell.model.listen_address import ListenAddress
from workbell.workers import probe_listener
from workbell.workers.probe_listener import MOST_BYTES, MOST_OPEN, ProbeListener, bind_probe
from workbell.workers.readiness import Readiness


@pytest.fixture
def readiness() -> Readiness:
    return Readiness(["worker 1"])


@pytest.fixture
def address(readiness: Readiness) -> Iterator[ListenAddress]:
    listening = bind_probe(ListenAddress("127.0.0.1", 0))
    listener = ProbeListener(listening, readiness)
    listener.start()
    yield ListenAddress(*listening.getsockname())
    listener.close()


def exchange(address: ListenAddress, request: bytes) -> bytes:
    """Everything that is answered until the other side closes."""
    with socket.create_connection(address, timeout=30) as client:
        client.sendall(request)
        return client.makefile("rb").read()


def test_ready_and_not(address: ListenAddress, readiness: Readiness) -> None:
    assert ask(address, "/readyz") == (False, "not ready: worker 1 has not polled the store yet")
    assert ask(address, "/livez") == (True, "alive")
    readiness.note_heartbeat("worker 1", 0.0, drained=False)
    assert ask(address, "/readyz") == (True, "ready")


def test_an_answer_is_http(address: ListenAddress) -> None:
    head, _, body = exchange(address, b"GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body)["status"] == "not ready"
    head, _, body = exchange(address, b"HEAD /livez HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body == b""


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /metrics HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /readyz HTTP/1.1\r\n\r\n", b"405"),
        (b"\x00\xff\r\n\r\n", b"404"),
        (b"x" * MOST_BYTES, b"404"),
    ],
)
def test_anything_else_is_refused(address: ListenAddress, request_: bytes, status: bytes) -> None:
    assert exchange(address, request_).split()[1] == status


def test_a_client_that_sends_nothing_is_cut_off(address: ListenAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_listener, "DEADLINE", 0.2)
    assert exchange(address, b"GET /livez HTTP/1.1\r\nHost") == b""


def test_idle_connections_keep_nobody_out(address: ListenAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_listener, "DEADLINE", 3600.0)
    idle = [socket.create_connection(address, timeout=30) for _ in range(MOST_OPEN * 2)]
    assert ask(address, "/livez") == (True, "alive")
    assert idle[0].recv(1) == b"", "the oldest one was closed"
    for client in idle:
        client.close()
    assert ask(address, "/livez") == (True, "alive")


def test_an_address_that_is_taken(address: ListenAddress) -> None:
    with pytest.raises(SettingsError, match=rf"{address.port}: .*; choose another address with --probe"):
        bind_probe(address)


def test_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        gone = ListenAddress(*free.getsockname())
    is_well, sentence = ask(gone, "/readyz")
    assert not is_well
    assert sentence.startswith(f"no answer from {gone}/readyz: ")


def test_connections_after_it_do_not_close_a_probe(address: ListenAddress) -> None:
    with socket.create_connection(address, timeout=30) as probe:
        idle = [socket.create_connection(address, timeout=30) for _ in range(MOST_OPEN // 2)]
        probe.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        assert probe.makefile("rb").read().startswith(b"HTTP/1.1 200")
        for one in idle:
            one.close()


def test_a_request_that_comes_with_its_connection_is_answered_at_once(readiness: Readiness) -> None:
    """Read when it is accepted: no other connection can close it before."""
    listening = bind_probe(ListenAddress("127.0.0.1", 0))
    listener = ProbeListener(listening, readiness)
    with socket.create_connection(listening.getsockname(), timeout=30) as probe:
        probe.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        others = [socket.create_connection(listening.getsockname(), timeout=30) for _ in range(MOST_OPEN - 1)]
        listener.start()
        assert probe.makefile("rb").read().startswith(b"HTTP/1.1 200")
        for one in others:
            one.close()
    listener.close()


def test_all_addresses_of_both_kinds(readiness: Readiness) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    listening = bind_probe(ListenAddress("::", 0))
    listener = ProbeListener(listening, readiness)
    listener.start()
    try:
        assert ask(ListenAddress("127.0.0.1", listening.getsockname()[1]), "/livez") == (True, "alive")
    finally:
        listener.close()
