"""Address of a running service, stored so that `workbell tokens url` can print it."""

from __future__ import annotations

import logging
import socket

from workbell.errors import StoreError
from workbell.http.binding import url_from_here
from workbell.model.loopback import is_loopback
from workbell.process.identity import is_gone, process_name
from workbell.stores.port import Store

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
