"""Timeouts of handlers in threads and processes. (Async ones have theirs on the event loop.)"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from workbell.engine.held_runs import HeldRuns
from workbell.engine.work import Work
from workbell.model.clock import Clock

PACE = 0.25


class Timeouts:
    def __init__(self, clock: Clock, held: HeldRuns, expire: Callable[[Work], None]) -> None:
        self._clock = clock
        self._held = held
        self._expire = expire

    def step(self, _now: datetime) -> float | None:
        moment = self._clock.monotonic()
        limited = [work for work in self._held.works() if work.timeout is not None and not work.on_loop]
        for work in limited:
            timeout, begun = work.timeout, work.begun
            if timeout is not None and begun is not None and moment - begun >= timeout:
                self._expire(work)
        return PACE if limited else None
