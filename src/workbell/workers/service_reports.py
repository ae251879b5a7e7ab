"""Reports of the supervisor to systemd: ready after the first polls, and signs of life while polls are answered."""

from __future__ import annotations

import time
from collections.abc import Callable

from workbell.process.service_manager import ServiceManager
from workbell.workers.readiness import Readiness

PINGS = 3  # in the time after which the watchdog would end the service


class ServiceReports:
    """A drained worker is a wish of its operator: it polls, so it is no reason to be ended by the watchdog."""

    def __init__(
        self, manager: ServiceManager, readiness: Readiness, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._manager = manager
        self._readiness = readiness
        self._monotonic = monotonic
        self._is_ready = False
        self._stopping = False
        self._status = ""
        self._pinged_at = 0.0

    def step(self) -> None:
        """Send what has changed since the last step."""
        if not self._manager.listens:
            return
        if self._readiness.stopping:
            if not self._stopping:
                self._stopping = True
                self._manager.send("STOPPING=1", "STATUS=stopping")
            return
        silent = self._readiness.silent()
        if silent is None and not self._is_ready:
            self._is_ready = True
            self._manager.send("READY=1")
        status = self._readiness.problem() or "ready"
        if status.partition(":")[0] != self._status.partition(":")[0]:  # seconds alone are no news
            self._status = status
            self._manager.send(f"STATUS={status}")
        if silent is None:
            self._ping()

    def _ping(self) -> None:
        pace, now = self._manager.watchdog, self._monotonic()
        if pace is not None and now - self._pinged_at >= pace / PINGS:
            self._pinged_at = now
            self._manager.send("WATCHDOG=1")
