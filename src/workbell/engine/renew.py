"""Renew: leases are extended while handlers work; lost ones and requests to cancel are passed on to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from workbell.engine.work import Work
from workbell.errors import StoreUnavailable
from workbell.logs.facts import run_facts
from workbell.stores.port import Store

log = logging.getLogger("workbell.engine")

PACE = 1.0  # how soon a long run learns that its end was asked for
PARTS = 5  # of a lease, after each of which it is renewed, if that is sooner


def pace_of(lease: timedelta) -> float:
    """Seconds between two renewals."""
    return min(PACE, lease.total_seconds() / PARTS)


class Renew:
    def __init__(
        self,
        store: Store,
        lease: timedelta,
        works: Callable[[], Iterable[Work]],
        stop_work: Callable[[Work], None],
        *,
        alone: bool = True,
    ) -> None:
        self._store = store
        self._lease = lease
        self._works = works
        self._stop_work = stop_work
        self._alone = alone  # nobody else keeps our leases: those that are over by our own clock are lost
        self._pace = pace_of(lease)
        self.renewals = 0

    def step(self, now: datetime) -> float:
        """Runs shorter than the pace are never asked about: they end before it matters."""
        moment = self._store.clock.monotonic()
        works = {work.run.id: work for work in self._due()}
        if not works:
            return self._pace
        try:
            answer = self._store.runs.renew(
                [work.held for work in works.values()], now=now, lease_until=now + self._lease
            )
        except StoreUnavailable:
            for work in works.values() if self._alone else ():
                if work.valid_until is not None and work.valid_until <= moment:
                    self._lose(work)
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
            if renewed.cancel_reason is not None and work.cancel_reason is None and not work.settled:
                work.cancel_reason = renewed.cancel_reason
                self._stop_work(work)
        return self._pace

    def _due(self) -> Iterable[Work]:
        young = self._store.clock.monotonic() - self._pace
        return (work for work in self._works() if work.claimed <= young and not work.lost)

    def is_due(self) -> bool:
        """Whether there are leases to renew."""
        return any(True for _ in self._due())

    def _lose(self, work: Work) -> None:
        """Somebody else may have the run by now. The handler is told; what it still returns is dropped."""
        if not work.settled:
            work.lost = True
            text = "run %s: its lease was lost; its handler is asked to stop"
            log.warning(text, work.run.id, extra=run_facts(work.run))
            self._stop_work(work)
