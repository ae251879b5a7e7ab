"""Listening socket of the server, and its address, without the web framework: the supervisor binds, a child serves.

The address is noted in the store, so that `workbell tokens url` can print it.
"""

from __future__ import annotations

import errno
import logging
import socket

from workbell.errors import SettingsError, StoreError
from workbell.http.policies.origins import is_of_this_machine
from workbell.model.loopback import is_loopback
from workbell.model.public_url import read_public_url
from workbell.process.identity import is_gone, process_name
from workbell.settings import Settings
from workbell.stores.port import Store

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


log = logging.getLogger("workbell.http")

DEADLINE = 1.0  # seconds for a service on this machine to take a connection
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104


def note_running(store: Store, listening: socket.socket) -> None:
    """Note that this process serves the API there; processes that were killed are forgotten."""
    host, port = listening.getsockname()[:2]
    try:
        store.services.remove([process for process in store.services.list() if is_gone(process)])
        store.services.put(process_name(), f"{host}:{port}")
    except StoreError as error:  # the service is none the worse for it
        log.warning("where the HTTP API is could not be noted, so `workbell tokens url` needs --at: %s", error)


def forget_running(store: Store) -> None:
    try:
        store.services.remove([process_name()])
    except StoreError as error:
        log.debug("the address of the HTTP API is still noted: %s", error)


def running_at(store: Store) -> str | None:
    """The address of a service of this store that can be reached from here; one on this machine comes first."""
    elsewhere = None
    for process, bound in sorted(store.services.list().items()):
        machine = process.partition("/")[0]
        host, _, port = bound.rpartition(":")
        if machine != socket.gethostname():
            if not is_loopback(host):
                elsewhere = url_from_here(machine if host in EVERYWHERE else host, int(port))
        elif not is_gone(process) and _answers(host, int(port)):
            return url_from_here(host, int(port))
    return elsewhere


def _answers(host: str, port: int) -> bool:
    """Whether a connection is taken there; pids say little, for containers may share the name of a machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    try:
        socket.create_connection((name, port), timeout=DEADLINE).close()
    except OSError:
        return False
    return True
