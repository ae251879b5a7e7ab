"""Give up: a worker that cannot renew its leases ends its process before they do, and its handlers with it.

A thread cannot be stopped, so a handler would go on while another worker has its run. Only where a supervisor starts
the process anew; an embedded engine tells its handlers and relies on the fence.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from workbell.model.clock import Clock

SHARE = 0.8  # of a lease may pass without a renewal


class ExitOnLostLeases:
    def __init__(
        self,
        clock: Clock,
        lease: float,
        renewals: Callable[[], int],
        waiting: Callable[[], bool],
        give_up: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._limit = lease * SHARE
        self._pace = min(lease / 20, 0.5)
        self._renewals = renewals
        self._waiting = waiting  # whether leases are held that should have been renewed
        self._give_up = give_up
        self._seen = -1
        self._silent = 0.0
        self._last = clock.monotonic()

    def step(self, _now: datetime) -> float:
        moment, renewals = self._clock.monotonic(), self._renewals()
        # Time in which this very thread did not run is not counted: then the process was stopped, or a handler held
        # the interpreter, and the renewal had no chance either. It has one now.
        passed = min(moment - self._last, 2 * self._pace)
        self._last = moment
        if renewals != self._seen or not self._waiting():
            self._silent = 0.0
        else:
            self._silent += passed
        self._seen = renewals
        if self._silent >= self._limit:
            self._give_up(f"no lease could be renewed for {self._silent:.1f} s; the store cannot be reached")
        return self._pace
