"""Names are asked for on threads of their own: who is never answered holds up nobody else."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from workbell.errors import SendFailed
from workbell.outgoing import resolve
from workbell.outgoing.resolve import ask_system

pytestmark = pytest.mark.anyio


async def test_names_that_are_never_answered_hold_up_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those who use the threads of the event loop, nor another name."""
    real, silent = socket.getaddrinfo, threading.Event()

    def slow(host: str, *given: object, **options: object) -> object:
        if host.endswith(".silent.example"):
            silent.wait(30)
            raise socket.gaierror
        return real(host, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    waiting = [asyncio.ensure_future(ask_system(f"{number}.silent.example", 443)) for number in range(40)]
    try:
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(lambda: "others go on") == "others go on"
            assert await ask_system("localhost", 443)
        assert not any(one.done() for one in waiting)
    finally:
        silent.set()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(one) for one in ended} == {socket.gaierror}


async def test_there_is_an_end_to_the_names_that_are_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [] if silent.wait(30) else None)
    monkeypatch.setattr(resolve, "_questions", threading.BoundedSemaphore(1))
    first = asyncio.ensure_future(ask_system("a.example", 443))
    await asyncio.sleep(0)
    with pytest.raises(SendFailed, match="too many names"):
        await ask_system("b.example", 443)
    silent.set()
    assert await first == []
    assert await ask_system("b.example", 443) == []  # there is room again
