"""Housekeeping: slow duties of an engine share one thread, and may wait for each other.

A step may wait for the store up to its deadline. So nothing is here that a lease, an outcome, a claim, a tick or a
timeout waits for: those have threads of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from workbell.engine.announcer import Announcer
from workbell.engine.duty import Duty, DutyThread, Waker
from workbell.engine.poll_subscribers import PollSubscribers
from workbell.engine.recover import Recover
from workbell.errors import StoreError
from workbell.runs.booking import Booking
from workbell.settings import Settings
from workbell.stores.measuring import MOST_UNMEASURED, follow_time
from workbell.stores.port import Store

TIDY = 10.0  # seconds


class Housekeeping:
    """One thread for the slow duties of an engine and of its halves (`chores`), whose wakers share `event`."""

    def __init__(
        self,
        store: Store,
        booking: Booking,
        announcer: Announcer,
        settings: Settings,
        event: threading.Event,
        chores: Sequence[Duty] = (),
    ) -> None:
        clock = store.clock
        self._store = store
        self._measure_pace = max(TIDY, min(settings.poll_pace, MOST_UNMEASURED))
        self._tallies = booking.publisher.tallies
        self._tallies_waker = Waker(event)
        recover = Recover(store, booking, announcer.announce, settings.sweep_pace, settings.lease_span)
        subscribers = PollSubscribers(booking.publisher, settings.poll_pace, Waker(event))
        self.hints = [subscribers.hint]
        self.thread = DutyThread(
            [
                Duty("recover", recover.step, clock, Waker(event)),
                Duty("tidy", self._tidy, clock, Waker(event)),
                Duty("time", self._measure_time, clock, Waker(event)),
                Duty("subscribers", subscribers.step, clock, subscribers.waker),
                Duty("tallies", self._tallies.step, clock, self._tallies_waker),
                *chores,
            ],
            "housekeeping",
            event,
        )

    def start(self) -> None:
        self._tallies.gather(self._store.clock, self._tallies_waker.wake)
        self.thread.start()

    def close(self) -> None:
        """After the thread has ended."""
        with suppress(StoreError):  # not worth a stop that fails
            self._tallies.stop()

    def _tidy(self, _now: datetime) -> float:
        self._store.tidy()
        return TIDY

    def _measure_time(self, _now: datetime) -> float:
        follow_time(self._store)
        return self._measure_pace
