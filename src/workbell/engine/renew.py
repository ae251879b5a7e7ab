"""Renew: leases are extended while handlers work; lost ones and requests to cancel are passed on to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from workbell.engine.held_runs import HeldRuns
from workbell.engine.work import Work
from workbell.errors import StoreUnavailable
from workbell.logs.facts import run_facts
from workbell.stores.port import Store

log = logging.getLogger("workbell.engine")

PACE = 1.0  # seconds: how soon a long run gets a request to cancel
RENEWALS_PER_LEASE = 5  # a lease shorter than 5 s is renewed more often than by the pace


def pace_of(lease: timedelta) -> float:
    """Seconds between two renewals."""
    return min(PACE, lease.total_seconds() / RENEWALS_PER_LEASE)


class Renew:
    def __init__(
        self,
        store: Store,
        lease: timedelta,
        held: HeldRuns,
        stop_work: Callable[[Work], None],
        *,
        alone: bool = True,
    ) -> None:
        self._store = store
        self._lease = lease
        self._held = held
        self._stop_work = stop_work
        self._alone = alone  # nobody else renews our leases: they may be lost once they are over by our own clock
        self.pace = pace_of(lease)
        self.renewals = 0

    def step(self, now: datetime) -> float:
        """Renew leases. Runs shorter than the pace are never renewed: they end before it matters."""
        moment = self._store.clock.boottime()  # before the renewal: a lease is not longer than that
        works = {work.run.id: work for work in self._due()}
        if not works:
            return self.pace
        try:
            answer = self._store.runs.renew(
                [work.held for work in works.values()], now=now, lease_until=now + self._lease
            )
        except StoreUnavailable:
            for work in works.values() if self._alone else ():
                if work.valid_until is not None and work.valid_until <= moment:
                    self._warn(work)
            raise
        self.renewals += 1
        good = {renewed.run_id: renewed for renewed in answer}
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%d leases renewed, of %d", len(good), len(works))
        for work in works.values():
            renewed = good.get(work.run.id)
            if renewed is None:
                self._lose(work)
                continue
            if not renewed.locked:
                work.valid_until = moment + self._lease.total_seconds()
                work.overdue = False
            if renewed.cancel_reason is not None and work.cancel_reason is None and not work.settled:
                work.cancel_reason = renewed.cancel_reason
                self._stop_work(work)
        return self.pace

    def _due(self) -> Iterable[Work]:
        young = self._store.clock.monotonic() - self.pace
        return (work for work in self._held.works() if work.claimed <= young and not work.lost)

    def is_due(self) -> bool:
        """Whether there are leases to renew."""
        return any(True for _ in self._due())

    def _warn(self, work: Work) -> None:
        """Mark a lease as over by our own clock: another worker may have the run, so `ctx.canceled` is set.

        Only the store knows, so an outcome that comes all the same is kept and tried.
        """
        if not work.settled and not work.overdue:
            work.overdue = True
            text = "run %s: its lease could not be renewed in time; its handler is asked to stop"
            log.warning(text, work.run.id, extra=run_facts(work.run))
            self._stop_work(work)

    def _lose(self, work: Work) -> None:
        """Mark a lease as lost: the store says so. `ctx.canceled` is set; its outcome is dropped."""
        if not work.settled:
            work.lost = True
            text = "run %s: its lease was lost; its handler is asked to stop"
            log.warning(text, work.run.id, extra=run_facts(work.run))
            self._stop_work(work)
