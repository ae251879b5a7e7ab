"""Messages to systemd, or another service manager with its protocol: one datagram each (`man sd_notify`)."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import MutableMapping

log = logging.getLogger("workbell.process")

SOCKET, WATCHDOG, WATCHDOG_PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"


class ServiceManager:
    """The manager that started this process, if it asked for messages; else sending does nothing."""

    def __init__(self, address: str | None = None, watchdog: float | None = None) -> None:
        """`watchdog`: seconds after which it ends this process, if no `WATCHDOG=1` has come."""
        self.listens = address is not None
        self.watchdog = watchdog
        # @ stands for the zero byte of an abstract socket.
        self._address = None if address is None else "\0" + address[1:] if address.startswith("@") else address
        self._failed = False

    def send(self, *lines: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto("\n".join(lines).encode(), self._address)
            self._failed = False
        except OSError as error:
            if not self._failed:
                log.warning("the service manager does not take messages at %s: %s", SOCKET, error)
            self._failed = True


def take_service_manager(environment: MutableMapping[str, str] | None = None) -> ServiceManager:
    """The manager that the environment names; removed there, as processes that this one starts must not answer it."""
    given = os.environ if environment is None else environment
    address, span, pid = (given.pop(name, "") for name in (SOCKET, WATCHDOG, WATCHDOG_PID))
    if not address.startswith(("/", "@")) or len(address) < 2:
        return ServiceManager()
    is_for_us = not pid or pid == str(os.getpid())
    watched = is_for_us and span.isascii() and span.isdecimal() and int(span) > 0
    return ServiceManager(address, int(span) / 1e6 if watched else None)
