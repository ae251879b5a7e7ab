"""Recover: runs whose lease ended go back to the queue; waiting runs that expired end as canceled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from workbell.booking import Booking, no_notice
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.model.state import Transition
from workbell.stores.port import Pair, Store

BATCH = 500


class Recover:
    def __init__(
        self,
        store: Store,
        booking: Booking,
        announce: Callable[[], None],
        sweep: float,
        lost: Callable[[Sequence[Pair]], None] = no_notice,
    ) -> None:
        self._store = store
        self._booking = booking
        self._announce = announce
        self._lost = lost
        self._sweep = sweep

    def step(self, now: datetime) -> float:
        lapsed = self._store.lapsed(now, BATCH)
        written = self._booking.book([(run, self._decide(run, now)) for run in lapsed], lost=True)
        if written:
            self._announce()
            self._lost(written)
        return 0 if len(lapsed) >= BATCH and written else self._sweep

    def _decide(self, run: Run, now: datetime) -> Transition:
        keep = state.kept(run, self._booking.keep).other
        if run.status is Status.RUNNING:
            return state.lose(run, now, keep=keep)
        return state.cancel(run, now, reason="expired", keep=keep)
