"""A real HTTP server for webhooks in a thread of its own: it notes what arrives, and answers as it is told."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from standardwebhooks import Webhook

DEADLINE = 30.0


class Arrived(NamedTuple):
    """One request; the names of its headers are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def verified_by(self, secret: str) -> Any:
        """The event, if the library of Standard Webhooks accepts it; else that raises."""
        return Webhook(secret).verify(self.body, self.headers)


class Reply(NamedTuple):
    status: int = 200
    body: bytes = b"thanks"
    headers: Mapping[str, str] = {}


class Hooks:
    """The server. Every path has answers of its own: those told for once first, then the standing one."""

    def __init__(self) -> None:
        self.arrived: list[Arrived] = []
        self.most: Counter[str] = Counter()  # requests to a path that were open at once
        self._now: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._once: dict[str, deque[Reply]] = {}
        self._standing: dict[str, Reply] = {}
        self._held: dict[str, threading.Event] = {}

    def __enter__(self) -> Hooks:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.hooks = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.02], name="hooks", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for path in list(self._held):
            self.release(path)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()  # waits for the threads of its connections

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    # What it answers

    def answer(self, status: int = 200, body: bytes = b"thanks", path: str = "/", **headers: str) -> None:
        """From now on; `retry_after="3"` is the header `retry-after`."""
        self._standing[path] = Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def answer_once(self, *statuses: int, path: str = "/") -> None:
        """Before the standing answer, one after the other."""
        self._once.setdefault(path, deque()).extend(Reply(status) for status in statuses)

    def hold(self, path: str = "/") -> None:
        """Answer nothing until `release`."""
        self._held[path] = threading.Event()

    def release(self, path: str = "/") -> None:
        self._held[path].set()

    # What it saw

    def to(self, path: str) -> list[Arrived]:
        with self._changed:
            return [one for one in self.arrived if one.path == path]

    def wait_for(self, count: int, path: str | None = None) -> list[Arrived]:
        """The requests, once there are so many."""
        end = time.monotonic() + DEADLINE
        with self._changed:
            while True:
                found = [one for one in self.arrived if path in (None, one.path)]
                if len(found) >= count:
                    return found
                left = end - time.monotonic()
                assert left > 0, f"{len(found)} of {count} requests have come"
                self._changed.wait(left)

    async def await_for(self, count: int, path: str | None = None) -> list[Arrived]:
        """`wait_for`, where the event loop has to go on."""
        return await asyncio.to_thread(self.wait_for, count, path)

    def serve(self, arrived: Arrived) -> Reply:
        """Called in the thread of a connection."""
        path = arrived.path
        with self._changed:
            self.arrived.append(arrived)
            self._now[path] += 1
            self.most[path] = max(self.most[path], self._now[path])
            self._changed.notify_all()
            once = self._once.get(path)
            reply = once.popleft() if once else self._standing.get(path, Reply())
        if path in self._held:
            self._held[path].wait(DEADLINE)
        with self._changed:
            self._now[path] -= 1
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128
    hooks: Hooks

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The other side may have gone away meanwhile, and often has."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = DEADLINE

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        assert len(headers) == len(self.headers), "a header came twice"
        reply = self.server.hooks.serve(Arrived(self.path, headers, body))
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None: ...
