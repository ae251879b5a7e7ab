"""Hand-back of claimed runs that have not begun: to the queue, when their job or queue is paused or the worker drained.

Those are runs of lanes that were paused since the claim; all runs, if the worker was drained; and runs that waited here
for long behind long ones: another worker may have a slot for them, and those of a limited job count against its limit.
Runs with a cancel asked for are handed back too, and end by that. So the store is read soon after a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from workbell.engine.duty import Pacing, Waker
from workbell.engine.execute import Done
from workbell.engine.held_runs import HeldRuns
from workbell.engine.work import Work
from workbell.model.outcome import HANDED_BACK
from workbell.model.pause import any_covers
from workbell.model.run import Lane
from workbell.stores.port import Store

LONGEST_WAIT = 1.0  # seconds that a claimed run waits here; AHEAD_SECONDS in prefetch.py is a tenth of that


class Waiting(Protocol):
    """Executors, as far as works wait there."""

    def take_back(self, wanted: Callable[[Work], bool]) -> list[Work]: ...


class HandBack:
    def __init__(
        self,
        store: Store,
        held: HeldRuns,
        waiting: Waiting,
        done: Done,
        poll: float,
        waker: Waker | None = None,
    ) -> None:
        self._store = store
        self._held = held
        self._waiting = waiting
        self._done = done
        # A survey before a pause may be as old: together, no more than a poll.
        self._pacing = Pacing(poll / 2, waker=waker)
        self.hint = self._pacing.hint  # a cancel may have been asked for, or a pause been set

    def step(self, now: datetime) -> float:
        left = self._pacing.left(now)
        if left is not None and not self._held.drained:
            return left
        self._pacing.again(now + self._pacing.poll)
        waiting = [work for work in self._held.busy() if work.started_at is None]
        if waiting:
            is_wanted_back = self._rule(waiting)
            if is_wanted_back is not None and any(is_wanted_back(work) for work in waiting):
                for work in self._waiting.take_back(is_wanted_back):
                    self._done(work, HANDED_BACK)
        return self._pacing.left(now) or 0

    def _rule(self, waiting: Sequence[Work]) -> Callable[[Work], bool] | None:
        """Which works go back; None: none can. Mostly so, and asking each of 2,000 prefetched ones cost 1 µs a run."""
        if self._held.drained:
            return lambda _work: True
        asked = self._store.runs.asked_to_end([work.run.id for work in waiting])
        pauses, since = self._store.pauses.list(), self._store.clock.monotonic() - LONGEST_WAIT
        if not asked and not pauses and waiting[0].claimed >= since:  # held since the longest: works come in order
            return None
        is_paused = any_covers(pauses)
        return lambda work: work.run.id in asked or is_paused(work.run.lane) or work.claimed < since


def paused(store: Store) -> Callable[[Lane], bool]:
    """Whether a lane is paused, as of now."""
    return any_covers(store.pauses.list())
