"""Connection to the server: one call at a time, each with a deadline; reopened when it was lost."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

from workbell import StoreUnavailable
from workbell.stores.turns import Turn, Turns

DEADLINE = 10.0  # seconds for a call, with the wait for its turn


class Connection:
    """One connection for all threads of this process; opened by the first call."""

    def __init__(self, host: str, port: int, where: str) -> None:
        self._address = (host, port)
        self._where = where
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._pid = os.getpid()
        self._socket: socket.socket | None = None
        self._turns = Turns()

    def call(self, request: dict[str, Any], *, again: bool, first: bool = False) -> dict[str, Any]:
        """The server's answer. `again`: ask a second time if the connection is lost, because nothing is written.

        `first`: before others that wait for their turn.
        """
        if self._pid != os.getpid():  # forked: two processes must not speak on one connection
            self._start_afresh()
        line = json.dumps(request).encode() + b"\n"
        end = time.monotonic() + DEADLINE
        turn = Turn()
        with turn.here:  # see workbell/stores/turns.py: no interrupt can lose the turn
            try:
                if not self._turns.take(turn, DEADLINE, first=first):
                    raise StoreUnavailable(f"{self._where}: no turn within {DEADLINE:g} s; is the server stuck?")
                try:
                    return self._exchange(line, end)
                except ConnectionError:
                    if not again:
                        raise
                    return self._exchange(line, end)
            except OSError as error:
                raise StoreUnavailable(f"{self._where}: {error}; see whether the server runs, then repeat.") from error
            finally:
                self._turns.give_back(turn)

    def _exchange(self, line: bytes, end: float) -> dict[str, Any]:
        if self._socket is not None and _is_over(self._socket):
            self.close()
        try:
            there = self._socket = self._socket or socket.create_connection(self._address, timeout=_left(end))
            there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there.settimeout(_left(end))
            there.sendall(line)
            answer: dict[str, Any] = json.loads(_receive_line(there, end))
            return answer
        except BaseException:  # an interrupt, too: the next call would read the answer to this one
            self.close()
            raise

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _is_over(there: socket.socket) -> bool:
    """Whether the server has hung up since the last call: then not even a write is in doubt, and it can be sent."""
    there.setblocking(False)
    try:
        there.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _receive_line(there: socket.socket, end: float) -> bytes:
    parts = [b""]
    while not parts[-1].endswith(b"\n"):
        there.settimeout(_left(end))
        parts.append(there.recv(1 << 18))
        if not parts[-1]:
            raise ConnectionResetError("the connection was closed before the answer came")
    return b"".join(parts)


def _left(end: float) -> float:
    return max(end - time.monotonic(), 0.001)
