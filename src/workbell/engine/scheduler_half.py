"""Scheduler half of an engine: ticks and events become runs, and history past its retention is removed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from workbell.engine.announcer import Announcer
from workbell.engine.clean_history import CleanHistory
from workbell.engine.duty import Duty, DutyThread, Waker
from workbell.engine.match_events import MatchEvents
from workbell.engine.materialise import Materialise
from workbell.engine.missing_workers import MissingWorkers
from workbell.engine.unserved_runs import UnservedRuns
from workbell.errors import StoreError
from workbell.model import state
from workbell.model.run_defaults import Maker
from workbell.process.identity import is_gone
from workbell.runs.runtime import Runtime
from workbell.settings import Settings

ORPHANS = 500  # that end in one write
DECLARE_PACE = 60.0  # seconds between two declarations of what code declares; ten polls, if that is longer


class SchedulerHalf:
    """`housekeeping` is the event of the thread that takes the steps of `chores`."""

    def __init__(
        self,
        runtime: Runtime,
        settings: Settings,
        worker: str,
        announcer: Announcer,
        housekeeping: threading.Event,
        declare_again: Callable[[], None],
    ) -> None:
        store, registry, clock = runtime.store, runtime.registry, runtime.store.clock
        announce, poll = announcer.announce, settings.poll_pace
        self._runtime = runtime
        self._declare_again = declare_again
        self._declared = False
        self._declare_pace = max(DECLARE_PACE, 10 * poll)
        self._materialise = Materialise(store, registry, announce, poll, runtime.publisher, self._maker)
        self._match = MatchEvents(store, registry, runtime.subscriptions, announce, poll, self._maker)
        self._clean = CleanHistory(
            store, runtime.booking, runtime.tenant, worker, settings.clean_every, settings.lease_span
        )
        self.hints = [self._materialise.hint, self._match.hint]
        self.chores = [
            Duty("clean", self._clean.step, clock, Waker(housekeeping)),
            Duty("unserved", UnservedRuns(store, poll).step, clock, Waker(housekeeping)),
            Duty("missing", MissingWorkers(store, runtime.publisher, poll).step, clock, Waker(housekeeping)),
            Duty("declare", self._declare, clock, Waker(housekeeping)),
        ]
        ticking = Duty("materialise", self._materialise.step, clock, self._materialise.waker)
        self.polls = [ticking]
        self._ticking = DutyThread([ticking])
        self.threads = [
            DutyThread([Duty("match", self._match.step, clock, self._match.waker)]),
            self._ticking,
        ]

    def _maker(self) -> Maker:
        return self._runtime.maker

    def _declare(self, _now: datetime) -> float:
        if self._declared:  # not at the start, where it has just been done
            self._declare_again()
        self._declared = True
        return self._declare_pace

    def end_orphans(self) -> None:
        """Cancel runs that were to live only as long as the process that accepted them, which is gone."""
        store, booking = self._runtime.store, self._runtime.booking
        now, reason = store.clock.now(), "the server that accepted it was restarted"
        for process in filter(is_gone, store.runs.accepting()):
            while orphans := store.runs.pending(accepted_by=process, limit=ORPHANS):
                booked, _ = booking.book_unheld(
                    [
                        (run, state.cancel(run, now, reason=reason, keep=state.retention_of(run, booking.keep).other))
                        for run in orphans
                    ]
                )
                if not booked:  # others have moved them, and move on
                    break

    def end(self) -> None:
        """Fire no more ticks."""
        self._ticking.end()

    def close(self) -> None:
        """After all threads have ended."""
        with suppress(StoreError):  # not worth a stop that fails
            self._clean.hand_back(self._runtime.store.clock.now())
