"""Poll subscribers: reads every poll, and soon after a hint, which of Workbell's own events have subscribers."""

from __future__ import annotations

from datetime import datetime

from workbell.engine.duty import Pacing, Waker
from workbell.runs.publisher import RunPublisher

GAP = 0.1  # seconds from a hint to a read: hardly one of them is about a trigger or an endpoint


class PollSubscribers:
    def __init__(self, publisher: RunPublisher, poll: float, waker: Waker | None = None) -> None:
        self._publisher = publisher
        self._pacing = Pacing(poll, GAP, waker)
        self.waker = self._pacing.waker
        self.hint = self._pacing.hint  # somebody may have subscribed

    def step(self, now: datetime) -> float:
        left = self._pacing.left(now)
        if left is not None:
            return left
        self._publisher.poll()
        self._pacing.again(now + self._pacing.poll)
        return self._pacing.poll.total_seconds()
