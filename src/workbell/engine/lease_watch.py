"""Lease watch: decides which leases have ended, by this process's own monotonic clock. Pure.

The end of a lease is a time by the clock of its holder. Clocks are set, and are apart for a while after that, so
another process must not go by that time alone: it would take every lease of the fleet after a step of an hour.
So a lease is watched, as in leader election: a living holder renews it, which changes its end. It counts as ended once
it was seen unchanged for (nearly) a whole lease, and for as long as it still had when it was first seen.

Only time in which the store answered counts. Nobody can renew while it is away, so `pause` adds that time to every
watched lease; and before a lease is taken, the store must have answered writes for three renewals (`StoreAnswers`): a
living holder has renewed by then, or booked what its handlers returned meanwhile.

That is no slower than going by the clock. A lease is renewed several times before its end; one that was not renewed for
two renewals is watched from then on, and is taken when its time is over. Longer leases than ours are watched all the
time: an agent may have one of an hour, which it renews every twenty minutes.
"""

from __future__ import annotations

import math
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
MISSED_WHEN_TAKEN = 3  # missed renewals of a lease that a sweep has taken over, and of any before it is taken
SLOW = 1.0  # seconds: a write that takes as long has waited for the store to come back
PATIENCE = 10  # times as long, where writes are answered, but slowly: with the usual lease, as long as that
MOST_APART = 6.0  # seconds between two writes, in which an outage of the store would not have been noticed
SHARE_WHEN_GONE = (
    0.4  # of a lease, if its holder's process is gone: longer than the keeper of a busy one takes to renew it
)
FAR = 4  # leases ahead: no end is later than that, unless a clock was set since


class SeenLease(NamedTuple):
    """A lease, and the moment at which it counts as ended if nobody renews it."""

    lease: Lease
    over_at: float


class StoreAnswers:
    """Since when the store answers writes, without a failure, a long wait or a long gap; `sure` seconds are enough.

    A store that is always slow answers holders as slowly, so `PATIENCE` times as long without a failure is enough too.
    """

    def __init__(self, sure: float) -> None:
        self._sure = sure
        self._since = self._unfailing_since = self._last = math.inf

    def note(self, asked: float, answered: float) -> None:
        """A write was answered, at these moments of monotonic time."""
        if self._since == math.inf or asked - self._last > MOST_APART:
            self._since = self._unfailing_since = answered
        elif answered - asked >= SLOW:
            self._since = answered
        self._last = answered

    def note_failure(self) -> None:
        self._since = self._unfailing_since = math.inf

    def left(self, moment: float) -> float:
        """Seconds until it has answered for long enough, if it goes on to do so."""
        return max(min(self._since + self._sure, self._unfailing_since + PATIENCE * self._sure) - moment, 0.0)


def sure_after(lease: timedelta) -> float:
    """Seconds in which a living holder renews its lease and books its outcomes, while the store answers."""
    return MISSED_WHEN_TAKEN * pace_of(lease)


class LeaseWatch:
    """Watches leases from one sweep to the next. `lease` is the setting: how long a lease of this fleet is."""

    def __init__(self, lease: timedelta, is_gone: Callable[[str], bool] = is_gone) -> None:
        pace = pace_of(lease)
        # Not less than the share of a lease after which a worker gives up by itself, if it cannot renew.
        self._silent = lease.total_seconds() - min(MISSED * pace, lease.total_seconds() * (1 - LEASE_SHARE))
        self._longer = lease.total_seconds() + MISSED * pace
        self._sure = sure_after(lease)
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

    def pause(self, seconds: float) -> None:
        """Do not count this much time that has passed: the store was away."""
        self._seen = {run_id: seen._replace(over_at=seen.over_at + seconds) for run_id, seen in self._seen.items()}

    def is_close(self, moment: float) -> bool:
        """Whether a lease ends so soon that the store must answer writes from now on, for it to be taken then."""
        return any(seen.over_at - self._sure <= moment for seen in self._seen.values())

    def next_at(self, moment: float) -> float | None:
        """When to look again: shortly before the end of a lease, and at it. None if none is watched."""
        times = (at for seen in self._seen.values() for at in (seen.over_at - self._sure, seen.over_at))
        return min((at for at in times if at > moment), default=None)

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
