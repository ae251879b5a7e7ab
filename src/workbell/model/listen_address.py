"""Address to listen on: `host:port`, or `[host]:port` for IPv6."""

from __future__ import annotations

from typing import NamedTuple

from workbell.errors import SettingsError

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
EXAMPLE = "write it as 127.0.0.1:8322, or as 0.0.0.0:8322 to be reached from other machines"


class ListenAddress(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def from_here(self) -> ListenAddress:
        """The address by which this machine reaches it."""
        return ListenAddress(EVERYWHERE.get(self.host, self.host), self.port)


def read_listen_address(text: str) -> ListenAddress:
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise SettingsError(f"{text!r} is no address to listen on: put an IPv6 host in brackets, as in [::1]:8322.")
    if not colon or not host or any(sign.isspace() or sign in "[]/@" for sign in host):
        raise SettingsError(f"{text!r} is no address to listen on; {EXAMPLE}.")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        raise SettingsError(f"{text!r}: {port!r} is no port from 0 to 65535; {EXAMPLE}.")
    return ListenAddress(host, int(port))
