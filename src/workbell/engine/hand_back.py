"""Hold back: what was claimed but has not begun goes back to the queue if it must not, or should not, begin here.

Runs of what was paused since, so that a pause really pauses; all of them, if the worker was drained. And runs that have
waited here for long, because long ones came before them: another worker may have a slot for them, and those of a
limited job take a place that it could use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from workbell.engine.work import Work
from workbell.model.run import Lane
from workbell.stores.port import Store

PATIENCE = 1.0  # seconds, with a run that waits here; ahead is claimed what takes a tenth of that


class HandBack:
    def __init__(
        self,
        store: Store,
        works: Callable[[], Iterable[Work]],
        hand_back: Callable[[Callable[[Work], bool]], None],
        poll: float,
        drained: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._works = works
        self._hand_back = hand_back
        self._drained = drained
        self._pace = poll / 2  # a survey before a pause may be as old: together, no more than a poll

    def step(self, _now: datetime) -> float:
        waiting = [work for work in self._works() if work.started_at is None and not work.settled]
        if waiting:
            is_held = self._held()
            if any(is_held(work) for work in waiting):
                self._hand_back(is_held)
        return self._pace

    def _held(self) -> Callable[[Work], bool]:
        if self._drained():
            return lambda _work: True
        is_paused, moment = paused(self._store), self._store.clock.monotonic()
        return lambda work: is_paused(work.run.lane) or moment - work.claimed > PATIENCE


def paused(store: Store) -> Callable[[Lane], bool]:
    """Whether a lane is paused, as of now."""
    pauses = store.pauses.list()
    return lambda lane: any(pause.covers(lane) for pause in pauses)
