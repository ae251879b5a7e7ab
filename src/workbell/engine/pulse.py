"""Pulse: an empty write at every poll, for probes. Claims write only when there is something to claim."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from workbell.engine.duty import Duty, DutyThread
from workbell.stores.port import Store


class Pulse:
    """Whether the store has answered the polls of an engine: those of `polls`, and an empty write of its own.

    Reads alone would not show a SQLite file that another process has locked, or a PostgreSQL that became read-only.
    """

    def __init__(self, store: Store, poll: float, polls: Iterable[Duty], *, writes: bool) -> None:
        self._store = store
        self._poll = poll
        self._duties = list(polls)
        self.threads: list[DutyThread] = []
        if writes:
            duty = Duty("pulse", self._step, store.clock)
            self._duties.append(duty)
            self.threads.append(DutyThread([duty]))

    def _step(self, now: datetime) -> float:
        self._store.workers.try_write(now)
        return self._poll

    def silent(self) -> float | None:
        """Seconds for which a poll has been due that the store has not answered; None: it has not answered yet."""
        longest = 0.0
        for duty in self._duties:
            overdue = duty.overdue()
            if overdue is None:
                return None
            longest = max(longest, overdue)
        return longest
