"""Recover: runs whose lease has ended (`lease_watch`) go back to the queue; waiting runs that expired are canceled.

The lease watch decides which leases have ended, counting only time in which the store answered. They are marked before
anything is decided about their runs, so that no renewal crosses the decision. Locked rows are left for the next sweep,
and hold up nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from workbell.engine.duty import Batch
from workbell.engine.lease_watch import LeaseWatch, StoreAnswers, sure_after
from workbell.errors import StoreUnavailable
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.model.state import Transition
from workbell.runs.booking import Booking
from workbell.stores.port import Lease, Store

BATCH = 500
CHECK_PACE = 1.0  # seconds between two writes of a round that waits for living holders
MOST_CHECKS = 20
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

        `sure` is how many seconds such a lease must then stay as it is while the store answers: a living holder renews
        it, whoever set a clock.
        """
        self._store = store
        self._booking = booking
        self._announce = announce
        self._sweep = sweep
        self._answers = StoreAnswers(sure if lease is None else sure_after(lease))
        self._seen: frozenset[Lease] | None = None  # in the first batch of a round, before the wait
        self._sure = sure
        self._watch = None if lease is None else LeaseWatch(lease)
        self._ended: list[Lease] = []  # as the watch says; to be taken once the store has answered for long enough
        self._read_last: float | None = None  # the end of the last read of leases, of monotonic time
        self._failed = False  # the store has not answered since
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
        # What an open transaction of the application holds up is read and tried again with the next sweep.
        written, _ = self._booking.book_unheld([(run, self._decide(run, now)) for run in lapsed], lost=True)
        if written:
            self._announce(change.after(run) for run, change in written)
        return Batch(len(written), bool(written) and (bool(ended) or len(lapsed) >= limit))

    def _take_over(self, now: datetime, limit: int) -> list[Run]:
        try:
            ended = self._ended_by_clock(now) if self._watch is None else self._watched(self._watch, now)
            return self._store.runs.take_over(ended, limit) if ended else []
        except StoreUnavailable:
            self._answers.note_failure()
            self._ended, self._failed = [], True
            raise

    def _ended_by_clock(self, now: datetime) -> list[Lease]:
        ended = self._store.runs.leases(now)
        if ended and self._sure:
            if self._seen is None:
                self._seen = frozenset(ended)
                self._await_holders()  # what is renewed meanwhile is not as it was seen, and cannot be taken over
            ended = [lease for lease in ended if lease in self._seen]
        return ended

    def _await_holders(self) -> None:
        for _ in range(MOST_CHECKS):
            asked = time.monotonic()
            self._store.workers.try_store()
            answered = time.monotonic()
            self._answers.note(asked, answered)
            left = self._answers.left(answered)
            time.sleep(min(left, CHECK_PACE))
            if left <= CHECK_PACE:
                return
        raise StoreUnavailable("The store answers writes too slowly to tell dead workers from living ones.")

    def _watched(self, watch: LeaseWatch, now: datetime) -> list[Lease]:
        """Leases that have ended. Holders had the time to renew them since the store came back, if it was away."""
        clock = self._store.clock
        asked = clock.monotonic()
        if not self._ended and asked < self._read_at:
            return []
        if self._ended or watch.is_close(asked):
            # Reads say nothing: a locked SQLite file and a read-only PostgreSQL answer them too. Nor does a write of
            # nothing: a full disk takes it.
            self._store.workers.try_store()
            self._answers.note(asked, clock.monotonic())
        if not self._ended:
            self._ended = self._read(watch, now)
        if not self._ended or self._answers.left(clock.monotonic()) > 0:
            return []
        ended, self._ended = self._ended, []
        return ended

    def _read(self, watch: LeaseWatch, now: datetime) -> list[Lease]:
        clock = self._store.clock
        asked = clock.monotonic()
        found = self._store.runs.leases(*watch.bounds(now))
        answered = clock.monotonic()
        if self._failed and self._read_last is not None:
            watch.pause(asked - self._read_last)
        self._failed, self._read_last = False, answered
        ended = watch.ended(found, now, asked, answered)
        rest = READ_SHARE * (answered - asked)
        # While there are some to take over, the rest of them must not wait.
        self._read_at = answered + min(rest, self._longest_rest) if rest > self._sweep and not ended else 0.0
        return ended

    def _pause(self) -> float:
        """Until the next sweep, or until a lease that is watched may have ended."""
        moment = self._store.clock.monotonic()
        if self._ended:
            return min(self._sweep, self._answers.left(moment))
        next_at = None if self._watch is None else self._watch.next_at(moment)
        return self._sweep if next_at is None else min(self._sweep, max(next_at, self._read_at) - moment)

    def _decide(self, run: Run, now: datetime) -> Transition:
        keep = state.retention_of(run, self._booking.keep).other
        if run.status is Status.RUNNING:
            return state.lose(run, now, keep=keep)
        return state.cancel(run, now, reason="expired", keep=keep)
