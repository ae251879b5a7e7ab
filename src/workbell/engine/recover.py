"""Recover: runs whose lease has ended (`lease_watch`) go back to the queue; waiting runs that expired are canceled.

The lease watch decides which leases have ended. They are marked before anything is decided about their runs, so that no
renewal crosses the decision. Locked rows are left for the next sweep, and holds up nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from workbell.engine.duty import Batch
from workbell.engine.lease_watch import MISSED_WHEN_TAKEN, LeaseWatch
from workbell.engine.renew import pace_of
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.model.state import Transition
from workbell.runs.booking import Booking
from workbell.stores.port import Lease, Store

BATCH = 500
READ_SHARE = 10  # times what reading the leases took: so long it rests, if that is longer than a sweep, up to a lease


class Recover:
    def __init__(
        self,
        store: Store,
        booking: Booking,
        announce: Callable[[Iterable[Run]], None],
        sweep: float,
        lease: timedelta | None = None,
        sure: float = 0.0,
    ) -> None:
        """Without `lease`, leases end by the store's clock: for one round, which cannot watch them for long.

        `sure` is how many seconds such a lease must then stay as it is: a living holder renews it, whoever set a clock.
        """
        self._store = store
        self._booking = booking
        self._announce = announce
        self._sweep = sweep
        self._sure = sure
        self._seen: frozenset[Lease] | None = None  # in the first batch of a round, before the wait
        self._watch = None if lease is None else LeaseWatch(lease)
        # When leases may be read again, of monotonic time. PostgreSQL reads all rows that vacuum could not remove yet:
        # beside a session that is idle in a transaction, at 16,000 runs a second, ten seconds of I/O after 20 minutes.
        self._read_at = 0.0
        self._longest_rest = 0.0 if lease is None else lease.total_seconds()

    def step(self, now: datetime) -> float:
        return 0 if self.take_over(now) else self._pause()

    def take_over(self, now: datetime, limit: int | None = None) -> Batch:
        """Move up to `limit` runs whose lease has ended, or that have expired."""
        limit = limit or BATCH
        # Not together: the end of one that expired frees its key, for which a caller's transaction may let it wait.
        ended = self._take_over(now, limit)
        lapsed = ended or self._store.runs.expired(now, limit)
        written = self._booking.book([(run, self._decide(run, now)) for run in lapsed], lost=True)
        if written:
            self._announce(change.after(run) for run, change in written)
        return Batch(len(written), bool(written) and (bool(ended) or len(lapsed) >= limit))

    def _take_over(self, now: datetime, limit: int) -> list[Run]:
        if self._watch is None:
            ended = self._store.runs.leases(now)
            if ended and self._sure:
                if self._seen is None:
                    self._seen = frozenset(ended)
                    time.sleep(self._sure)  # what is renewed meanwhile is not as it was seen, and cannot be taken over
                ended = [lease for lease in ended if lease in self._seen]
        else:
            clock = self._store.clock
            asked = clock.monotonic()
            if asked < self._read_at:
                return []
            found = self._store.runs.leases(*self._watch.bounds(now))
            answered = clock.monotonic()
            ended = self._watch.ended(found, now, asked, answered)
            rest = READ_SHARE * (answered - asked)
            # While there are some to take over, the rest of them must not wait.
            self._read_at = answered + min(rest, self._longest_rest) if rest > self._sweep and not ended else 0.0
        return self._store.runs.take_over(ended, limit) if ended else []

    def _pause(self) -> float:
        """Until the next sweep, or until a lease that is watched may have ended."""
        moment = self._store.clock.monotonic()
        next_at = None if self._watch is None else self._watch.next_at(moment)
        return self._sweep if next_at is None else min(self._sweep, max(next_at, self._read_at) - moment)

    def _decide(self, run: Run, now: datetime) -> Transition:
        keep = state.retention_of(run, self._booking.keep).other
        if run.status is Status.RUNNING:
            return state.lose(run, now, keep=keep)
        return state.cancel(run, now, reason="expired", keep=keep)


def sure_after(lease: timedelta) -> float:
    """Seconds in which a living holder of a lease renews it: see `sure`."""
    return MISSED_WHEN_TAKEN * pace_of(lease)
