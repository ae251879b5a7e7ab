"""Every attempt of this process to open a connection, seen at the socket itself: below every library."""

from __future__ import annotations

import errno
import socket
from typing import Any

import pytest


class Dialled:
    """The addresses that were dialled, in order. Only those of `through` are really connected; others are refused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, through: tuple[str, ...] = ()) -> None:
        self.addresses: list[str] = []
        self._through = through
        connect = socket.socket.connect

        def watched(sock: socket.socket, address: Any) -> None:
            if sock.family not in (socket.AF_INET, socket.AF_INET6):
                return connect(sock, address)
            self.addresses.append(address[0])
            if address[0] in self._through:
                return connect(sock, address)
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused by the test")

        def forbidden(sock: socket.socket, *_: Any) -> None:
            raise AssertionError(f"{sock} was used in a way that is not watched")

        monkeypatch.setattr(socket.socket, "connect", watched)
        for name in ("connect_ex", "sendto", "sendmsg"):
            monkeypatch.setattr(socket.socket, name, forbidden)
