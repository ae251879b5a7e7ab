"""Expire: handlers in threads and processes that outlast their timeout. (Others have theirs on the event loop.)"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from workbell.engine.work import Work

PACE = 0.25


class Expire:
    def __init__(self, works: Callable[[], Iterable[Work]], expire: Callable[[Work], None]) -> None:
        self._works = works
        self._expire = expire

    def step(self, now: datetime) -> float | None:
        limited = [work for work in self._works() if not work.on_loop and work.timeout is not None]
        for work in limited:
            timeout, started = work.timeout, work.started_at
            if timeout is not None and started is not None and (now - started).total_seconds() >= timeout:
                self._expire(work)
        return PACE if limited else None
