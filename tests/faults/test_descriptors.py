"""A process that is out of file descriptors: told once, and served again as soon as there are some."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.served import DEADLINE, served
from tests.support.waiting import until
from workbell import Workbell
from workbell.http.policies.connections import Accepting
from workbell.settings import Settings

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """Until the block ends nothing can be opened: the limit is the lowest number that is free."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_wait_and_one_line_says_why(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    bell = Workbell(settings=Settings(url=sqlite_url, http_port=0))
    with served(bell) as site:
        host, _, port = site.host.partition(":")
        callers = [socket.socket() for _ in range(20)]
        with no_descriptors_left(), caplog.at_level(logging.WARNING):
            for caller in callers:
                caller.settimeout(DEADLINE)
                caller.connect((host, int(port)))  # the system takes it; the server cannot
                caller.sendall(HEALTH)
            until(lambda: caplog.records, "the log to say so")
        for caller in callers:
            assert caller.recv(4096).startswith(b"HTTP/1.1 200 ")
            caller.close()
    bell.close()
    (line,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert line.getMessage().startswith("new connections wait: the process is out of file descriptors; raise its limit")


@pytest.mark.anyio
async def test_other_errors_of_the_event_loop_go_where_they_went(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    heard: list[str] = []
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _loop, context: heard.append(context["message"]))
    accepting = Accepting()
    accepting.begin(loop)
    loop.call_exception_handler({"message": "a", "exception": OSError(24, "Too many"), "socket": None})
    loop.call_exception_handler({"message": "b", "exception": OSError(24, "Too many")})
    accepting.end()
    loop.call_exception_handler({"message": "c"})
    loop.set_exception_handler(before)
    assert heard == ["b", "c"]
    assert len(caplog.records) == 1
