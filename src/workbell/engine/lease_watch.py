"""Lease watch: decides which leases have ended, by this process's own monotonic clock. Pure.

The end of a lease is a time by the clock of its holder. Clocks are set, and are apart for a while after that, so
another process must not go by that time alone: it would take every lease of the fleet after a step of an hour.
So a lease is watched, as in leader election: a living holder renews it, which changes its end. It counts as ended once
it was seen unchanged for (nearly) a whole lease, and for as long as it still had when it was first seen.

That is no slower than going by the clock. A lease is renewed several times before its end; one that was not renewed for
two renewals is watched from then on, and is taken when its time is over. Longer leases than ours are watched all the
time: an agent may have one of an hour, which it renews every twenty minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from workbell.engine.exit_on_lost_leases import LEASE_SHARE
from workbell.engine.renew import pace_of
from workbell.model.agent import LONGEST_LEASE, is_agent
from workbell.model.clock import EPOCH
from workbell.process.identity import is_gone
from workbell.stores.port import Lease

MISSED = 2  # missed renewals after which a lease is watched; or a fifth of a lease, if that is sooner
MISSED_WHEN_TAKEN = 3  # missed renewals of a lease that a sweep has taken over
SHARE_WHEN_GONE = (
    0.4  # of a lease, if its holder's process is gone: longer than the keeper of a busy one takes to renew it
)
FAR = 4  # leases ahead: no end is later than that, unless a clock was set since


class SeenLease(NamedTuple):
    """A lease, and the moment at which it counts as ended if nobody renews it."""

    lease: Lease
    over_at: float


class LeaseWatch:
    """Watches leases from one sweep to the next. `lease` is the setting: how long a lease of this fleet is."""

    def __init__(self, lease: timedelta, is_gone: Callable[[str], bool] = is_gone) -> None:
        pace = pace_of(lease)
        # Not less than the share of a lease after which a worker gives up by itself, if it cannot renew.
        self._silent = lease.total_seconds() - min(MISSED * pace, lease.total_seconds() * (1 - LEASE_SHARE))
        self._longer = lease.total_seconds() + MISSED * pace
        self._sure = MISSED_WHEN_TAKEN * pace
        self._gone = max(self._sure, lease.total_seconds() * SHARE_WHEN_GONE)
        self._far = FAR * lease.total_seconds()
        self._is_gone = is_gone
        self._seen: dict[str, SeenLease] = {}

    def bounds(self, now: datetime) -> tuple[datetime, datetime]:
        """Which leases are worth watching: those that end before the first time, or beyond the second."""
        return now + timedelta(seconds=self._silent), now + timedelta(seconds=self._longer)

    def ended(self, leases: Iterable[Lease], now: datetime, asked: float, answered: float) -> list[Lease]:
        """Leases that have ended, of those read between two moments of monotonic time: a lease counts as unchanged only
        from the end of one read to the beginning of the next."""
        before, self._seen = self._seen, {}
        for lease in leases:
            seen = before.get(lease.run_id)
            if seen is None or seen.lease != lease:  # new here, or renewed
                seen = SeenLease(lease, answered + self._wait(lease, now))
            self._seen[lease.run_id] = seen
        over = [seen for seen in self._seen.values() if seen.over_at <= asked]
        return [seen.lease for seen in sorted(over, key=lambda seen: seen.over_at)]

    def next_at(self, moment: float) -> float | None:
        """When the next lease may have ended, after this moment; none, if none is watched."""
        return min((seen.over_at for seen in self._seen.values() if seen.over_at > moment), default=None)

    def _wait(self, lease: Lease, now: datetime) -> float:
        """How long a lease that was not seen before must stay as it is to count as ended."""
        if lease.until == EPOCH:  # a sweep has taken it over, and is about to move its run, or died before that
            return self._sure
        left = (lease.until - now).total_seconds()
        worker = lease.worker or ""
        longest = LONGEST_LEASE.total_seconds() if is_agent(worker) else self._far
        if left > longest:  # by a clock that was put back; an agent may renew a long lease rarely
            return self._silent + (longest / 3 if is_agent(worker) else 0)
        return max(left, self._gone if self._is_gone(worker) else self._silent)
