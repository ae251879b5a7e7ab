"""HTTP listener for probes, in a thread of the supervisor: `/livez` and `/readyz`, and nothing else.

Standard library only: a worker has no web framework. A client that sends nothing, or a byte at a time, is cut off
after `DEADLINE`; of too many connections the oldest is closed. What came with a connection is read at once, so that a
probe is answered before others can close it.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from http import HTTPStatus

import msgspec

from workbell.errors import SettingsError
from workbell.model.listen_address import ListenAddress
from workbell.workers.readiness import Readiness

log = logging.getLogger("workbell.workers")

DEADLINE = 3.0  # seconds for a whole request
MOST_OPEN = 128  # connections
MOST_BYTES = 8192  # of a request
HEAD_END = b"\r\n\r\n"

encode = msgspec.json.Encoder().encode


def bind_probe(address: ListenAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        dual = address.host == "::" and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, backlog=MOST_OPEN, dualstack_ipv6=dual)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"Probes cannot be answered on {address}: {reason}; choose another address with --probe, or stop what "
            "uses it."
        ) from error


class ProbeListener:
    """Answers probes until it is closed."""

    def __init__(self, listening: socket.socket, readiness: Readiness) -> None:
        self._listening = listening
        self._readiness = readiness
        self._requests: dict[socket.socket, tuple[float, bytes]] = {}  # oldest first: when each ends, what came
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="workbell-probe", daemon=True)

    def start(self) -> None:
        for door in (self._listening, self._woken):
            door.setblocking(False)
            self._selector.register(door, selectors.EVENT_READ)
        self._thread.start()

    def close(self) -> None:
        self._closed = True
        self._wake.send(b"!")
        self._thread.join()
        for door in (*self._requests, self._listening, self._wake, self._woken):
            door.close()
        self._selector.close()

    def _run(self) -> None:
        while not self._closed:
            try:
                for key, _ in self._selector.select(self._wait()):
                    if key.fileobj is self._listening:
                        self._accept()
                    elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._requests:
                        self._read(key.fileobj)
                self._end_late()
            except OSError as error:  # such as no descriptor left
                log.warning("a probe could not be answered: %s", error)
                time.sleep(0.1)

    def _wait(self) -> float | None:
        ends = [end for end, _ in self._requests.values()]
        return max(min(ends) - time.monotonic(), 0.0) if ends else None

    def _accept(self) -> None:
        try:
            client, _ = self._listening.accept()
        except BlockingIOError:  # it has gone
            return
        client.setblocking(False)
        if len(self._requests) >= MOST_OPEN:
            self._end(next(iter(self._requests)))
        self._selector.register(client, selectors.EVENT_READ)
        self._requests[client] = (time.monotonic() + DEADLINE, b"")
        self._read(client)

    def _read(self, client: socket.socket) -> None:
        end, before = self._requests[client]
        try:
            more = client.recv(MOST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        request = before + more
        if more and HEAD_END not in request and len(request) < MOST_BYTES:
            self._requests[client] = (end, request)
            return
        if more:
            with contextlib.suppress(OSError):
                client.send(self._answer(request))  # it fits into the socket's buffer
        self._end(client)

    def _end_late(self) -> None:
        now = time.monotonic()
        for client in [client for client, (end, _) in self._requests.items() if end <= now]:
            self._end(client)

    def _end(self, client: socket.socket) -> None:
        del self._requests[client]
        self._selector.unregister(client)
        client.close()

    def _answer(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b"\r\n")[0].partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        status, body = self._page(method, path)
        text = encode(body)
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == b"HEAD" else text)

    def _page(self, method: bytes, path: bytes) -> tuple[HTTPStatus, dict[str, str]]:
        if path not in (b"/livez", b"/readyz"):
            return HTTPStatus.NOT_FOUND, {"status": "not found", "detail": "probes are /livez and /readyz"}
        if method not in (b"GET", b"HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, {"status": "not allowed", "detail": "use GET"}
        if path == b"/livez":
            problem, word, otherwise = self._readiness.stalled(), "alive", "stalled"
        else:
            problem, word, otherwise = self._readiness.problem(), "ready", "not ready"
        if problem is None:
            return HTTPStatus.OK, {"status": word}
        return HTTPStatus.SERVICE_UNAVAILABLE, {"status": otherwise, "detail": problem}
