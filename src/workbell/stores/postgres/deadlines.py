"""Deadlines for database calls: a call that is not over in time is cancelled on the server, then cut off.

The cancel comes first, on a connection of its own: closing a socket alone would leave the server's process behind,
waiting for its lock until it gets it (a table locked for 90 s turned 25 connections into 98). A server that does not
answer to that either is cut off after a second: nothing else frees a thread from a frozen peer, as keep-alives do not
fire while the other side's kernel answers, and a statement timeout is the server's, which may be the one that hangs.
The socket is shut down under the driver, and the call fails. Either way the connection is thrown away.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg

from workbell.process.platform import platform

PACE = 0.5  # seconds between two checks of the calls under way
GRACE = 1.0  # seconds that a cancelled call has to end by itself
CANCEL = 30  # seconds to deliver a cancel: a network may be back by then
# A connection that was cut off occupies its slot of the pool until the server has closed its end. A network that drops
# packets never shows that: so after REUSE_AFTER seconds its slot is free again, for at most as many at a time as the
# pool has slots, and after LONGEST for all.
REUSE_AFTER = 2.0  # seconds
LONGEST = 60.0  # seconds
CLOSED = 7  # Linux: the state of a TCP connection that both sides have ended


class DeadlinePassed:
    """A call that was not over in time."""

    def __init__(self, connection: Any, now: float) -> None:
        self.connection = connection
        self.cut_at = now + GRACE
        self.socket_copy: socket.socket | None = None  # a duplicate of its socket, once it is cut off
        self.backend = 0  # the server's process
        self.ended: Callable[[], None] | None = None  # called once, to free its slot
        self.closed_at = 0.0

    def cut(self) -> None:
        """Shut the socket down, without closing the driver's own descriptor."""
        with contextlib.suppress(Exception):
            self.backend = self.connection.info.backend_pid
            self.socket_copy = socket.socket(fileno=os.dup(self.connection.fileno()))
            self.socket_copy.shutdown(socket.SHUT_RDWR)

    def let_go(self) -> None:
        if self.socket_copy is not None:
            self.socket_copy.close()

    def end(self) -> None:
        ended, self.ended = self.ended, None
        if ended is not None:
            ended()

    def has_left(self) -> bool:
        """Whether the server has closed its end too; true where that cannot be found out."""
        assert self.socket_copy is not None
        if self.socket_copy.family == getattr(socket, "AF_UNIX", None):
            return not is_alive(self.backend)
        if not platform().tcp_info:
            return True
        try:
            return self.socket_copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == CLOSED
        except OSError:
            return True


class Deadlines:
    """Watches calls that are under way. Noting one costs a dict entry; one thread checks them twice a second.

    `spare`: how many slots of connections that were cut off may be used again before the server has closed its end.
    `beside` is called at every check, with the time.
    """

    def __init__(self, spare: int, beside: Callable[[float], None] = lambda _: None) -> None:
        self.spare = spare
        self._beside = beside
        self._calls: dict[int, tuple[float, Any]] = {}
        self._lock = threading.Lock()  # of the two below; a call that ends in time does not take it
        self._overdue: dict[int, DeadlinePassed] = {}
        self._leaving: list[DeadlinePassed] = []  # closed here, and perhaps not yet by the server
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, connection: Any, seconds: float) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="workbell-deadlines", daemon=True)
            self._thread.start()
        self._calls[id(connection)] = (time.monotonic() + seconds, connection)

    def end(self, connection: Any) -> DeadlinePassed | None:
        """None, if the call was over in time. Otherwise its connection is not to be used again."""
        key = id(connection)
        if self._calls.pop(key, None) is not None:
            return None
        with self._lock:  # not closed while it is being cut off: its descriptor may belong to another file then
            return self._overdue.pop(key, None)

    def find_overdue(self, connection: Any) -> DeadlinePassed | None:
        """The call under way, if its time is over."""
        with self._lock:
            return self._overdue.get(id(connection))

    def await_end(self, overdue: DeadlinePassed, ended: Callable[[], None]) -> None:
        """Call `ended` when the server has closed a connection that is closed here, or after a while anyway."""
        overdue.ended, overdue.closed_at = ended, time.monotonic()
        if overdue.socket_copy is None:  # it has answered, and ends by itself
            overdue.end()
            return
        with self._lock:
            self._leaving.append(overdue)

    def _watch(self) -> None:
        while not self._stop.wait(PACE):
            now = time.monotonic()
            for key, (until, _) in list(self._calls.items()):
                if until < now:
                    self._expire(key, now)
            if self._overdue or self._leaving:
                self._end_overdue(now)
            with contextlib.suppress(Exception):  # nothing may end this thread
                self._beside(now)

    def _expire(self, key: int, now: float) -> None:
        with self._lock:
            call = self._calls.pop(key, None)
            if call is None:
                return
            self._overdue[key] = DeadlinePassed(call[1], now)
        with contextlib.suppress(RuntimeError):  # no thread can be started: then it is only cut off
            threading.Thread(target=cancel, args=(call[1],), name="workbell-cancel", daemon=True).start()

    def _end_overdue(self, now: float) -> None:
        with self._lock:
            for overdue in self._overdue.values():
                if overdue.cut_at < now and overdue.socket_copy is None:
                    overdue.cut()
            for key in [key for key, overdue in self._overdue.items() if overdue.cut_at + LONGEST < now]:
                self._overdue.pop(key).let_go()  # its caller was interrupted, and will not collect it
            gone = [one for one in self._leaving if one.closed_at + LONGEST < now or one.has_left()]
            self._leaving = [one for one in self._leaving if one not in gone]
            replaced = sum(one.ended is None for one in self._leaving)
            reusable = [one for one in self._leaving if one.ended is not None and one.closed_at + REUSE_AFTER < now]
        for one in gone:
            assert one.socket_copy is not None
            one.socket_copy.close()
            one.end()
        for one in reusable[: max(self.spare - replaced, 0)]:
            one.end()

    def close(self) -> None:
        self._stop.set()


def cancel(connection: Any) -> None:
    """Cancel the statement of a connection on the server. Before libpq 17 a cancel has no timeout, and may hold the
    interpreter lock: then the deadline only cuts off."""
    if psycopg.capabilities.has_cancel_safe():
        with contextlib.suppress(psycopg.Error):
            connection.cancel_safe(timeout=CANCEL)


def is_alive(process: int) -> bool:
    """Whether a process of this machine is alive; behind a Unix socket, the server's are on this machine."""
    if process <= 0:  # made up by a pooler
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True  # another user's
    except OSError:
        return False
    return True
