"""Exit on lost leases: a worker that cannot renew its leases exits before they expire, so that no run executes twice.

A thread cannot be stopped, so a handler would go on while another worker has its run. Only where a supervisor starts
the process anew; an embedded engine sets `ctx.canceled` and relies on the fencing token.

Only a handler that still executes is a reason to exit. Outcomes of handlers that have ended are kept, and claimed runs
that have not begun are handed back.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from workbell.model.clock import Clock

LEASE_SHARE = 0.8  # of a lease may pass without a renewal


class Renewals(Protocol):
    """The renewal of leases, as far as it can be watched."""

    renewals: int

    def is_due(self) -> bool: ...


class ExitOnLostLeases:
    def __init__(
        self,
        clock: Clock,
        lease: float,
        renew: Renewals,
        give_up: Callable[[str], None],
        *,
        executes: Callable[[float], bool],
        hand_back: Callable[[float], None],
    ) -> None:
        """Of runs that were claimed before a moment: `executes` says whether a handler executes, `hand_back` gives back
        those that have not begun."""
        self._clock = clock
        self._limit = lease * LEASE_SHARE
        self._pace = min(lease / 20, 0.5)
        self._renew = renew
        self._give_up = give_up
        self._executes = executes
        self._hand_back = hand_back
        self._seen = -1
        self._silent = 0.0
        self._last = clock.monotonic()

    def step(self, _now: datetime) -> float:
        moment, renewals = self._clock.monotonic(), self._renew.renewals
        # Time in which this very thread did not run is not counted: then the process was stopped, or a handler held
        # the interpreter, and the renewal had no chance either. It has one now.
        passed = min(moment - self._last, 2 * self._pace)
        self._last = moment
        if renewals != self._seen or not self._renew.is_due():
            self._silent = 0.0
        else:
            self._silent += passed
        self._seen = renewals
        if self._silent >= self._limit:
            before = moment - self._limit  # later claims have longer leases
            self._hand_back(before)
            if self._executes(before):
                self._give_up(f"no lease could be renewed for {self._silent:.1f} s; the store cannot be reached")
        return self._pace
