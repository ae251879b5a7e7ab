"""One end of the pipe between a supervisor and a child."""

from __future__ import annotations

import logging
import threading
from multiprocessing.connection import Connection

from workbell.workers.messages import Message, decode, encode, shown

log = logging.getLogger("workbell.workers")


class Pipe:
    """Sends from any thread; one thread receives. Nothing is raised when the other end is gone."""

    def __init__(self, connection: Connection, peer: str) -> None:
        self.connection = connection
        self._peer = peer
        self._lock = threading.Lock()

    def send(self, message: Message) -> bool:
        if log.isEnabledFor(logging.DEBUG):
            log.debug("to %s: %s", self._peer, shown(message))
        try:
            with self._lock:
                self.connection.send_bytes(encode(message))
            return True
        except (OSError, ValueError):
            return False

    def receive(self) -> Message | None:
        """The next message, waiting for it; none when the other end is gone."""
        try:
            message: Message = decode(self.connection.recv_bytes())
        except (EOFError, OSError):
            return None
        if log.isEnabledFor(logging.DEBUG):
            log.debug("from %s: %s", self._peer, shown(message))
        return message

    def waits(self, timeout: float = 0) -> bool:
        """Whether a message, or the end of the other side, can be received."""
        try:
            return self.connection.poll(timeout)
        except (OSError, EOFError):
            return True

    def close(self) -> None:
        self.connection.close()
