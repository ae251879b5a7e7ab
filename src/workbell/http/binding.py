"""Listening socket of the server, without the web framework: the supervisor binds, a child serves."""

from __future__ import annotations

import errno
import socket

from workbell.errors import SettingsError
from workbell.http.policies.origins import is_of_this_machine
from workbell.model.loopback import is_loopback
from workbell.model.public_url import read_public_url
from workbell.settings import Settings

PORT = 8321
PORTS = 50  # that are tried, where none is named
BACKLOG = 128  # connections that wait to be accepted; also how many are accepted in one go, before any is refused


def bind(settings: Settings) -> socket.socket:
    """A socket at the address of the settings. Where no port is named, it is 8321 or the next one that is free."""
    host, named = settings.http_host, settings.http_port
    check_open(settings, host)
    for port in [named] if named is not None else range(PORT, PORT + PORTS):
        try:
            return _bound(host, port)
        except OSError as error:
            refused = error
            if error.errno != errno.EADDRINUSE:
                break
    where = f"port {named}" if named is not None else f"ports {PORT} to {PORT + PORTS - 1}"
    reason = refused.strerror or str(refused)
    raise SettingsError(
        f"HTTP cannot listen on {host}, {where}: {reason}; choose another with --port, or stop what uses it."
    )


def check_open(settings: Settings, host: str) -> None:
    """Raise if everybody would be let in from everywhere."""
    if settings.http_auth == "none" and not is_loopback(host):
        raise SettingsError(
            f"http_host = {host!r} can be reached from other machines, and http_auth = 'none' lets everybody in; "
            "use tokens (http_auth = 'token'), or listen on 127.0.0.1."
        )
    public = None if settings.http_public_url is None else read_public_url(settings.http_public_url)
    if settings.http_auth == "none" and public is not None and not is_of_this_machine(public):
        raise SettingsError(
            f"http_public_url = {public.address!r} is reached from other machines, and http_auth = 'none' lets "
            "everybody in; use tokens (http_auth = 'token'), or remove http_public_url."
        )


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)  # from now on: two that bind at the same moment would both believe it is theirs
        return sock
    except BaseException:
        sock.close()
        raise


def url_from_here(host: str, port: int) -> str:
    """The URL at which the service is reached from here."""
    name = "127.0.0.1" if host in ("0.0.0.0", "::", "localhost") else host  # noqa: S104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
