"""Deadlines for calls to the database: a connection that does not answer in time is cut off.

Nothing else frees a thread from a frozen peer: keep-alives do not fire while the other side's kernel answers, and a
statement timeout is the server's, which may be the one that hangs. The socket is shut down under the driver, the
call fails, and the connection is thrown away.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Any

PACE = 0.5


class Deadlines:
    """Watches calls that are under way. Noting one costs a dict entry; one thread looks twice a second."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[float, Any]] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, connection: Any, seconds: float) -> int:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="workbell-deadlines", daemon=True)
            self._thread.start()
        key = id(connection)
        self._calls[key] = (time.monotonic() + seconds, connection)
        return key

    def end(self, key: int) -> None:
        self._calls.pop(key, None)

    def _watch(self) -> None:
        while not self._stop.wait(PACE):
            now = time.monotonic()
            for key, (until, connection) in list(self._calls.items()):
                if until < now and self._calls.pop(key, None) is not None:
                    with contextlib.suppress(Exception):
                        cut_off(connection.fileno())

    def close(self) -> None:
        self._stop.set()


def cut_off(descriptor: int) -> None:
    """Shut a socket down without closing the driver's own descriptor."""
    with socket.socket(fileno=os.dup(descriptor)) as line:
        line.shutdown(socket.SHUT_RDWR)
