"""Guard around a queue adapter: its errors are logged now and then, and cost latency only, as workers poll."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TypeVar

from workbell.logs.secrets import without_secrets
from workbell.model.run import Run, Status
from workbell.queues.port import Permit, Queue, Sent

log = logging.getLogger("workbell.queues")

T = TypeVar("T")

REST = 1.0  # seconds without calls after an error: each call might take as long as its deadline
SILENT = 60.0  # seconds between two warnings
LONGEST_POLL = timedelta(seconds=60)  # that the setting `poll` allows


def _able(runs: Iterable[Run]) -> list[Sent]:
    return [Sent(run.id, run.queue) for run in runs if run.status is Status.QUEUED and run.lane.target is None]


def _needs_no_hint(run: Run) -> bool:
    """Whether a run was sent, or is due later than the next poll of any process."""
    if run.status is Status.SCHEDULED:
        return run.scheduled_for - run.updated_at > LONGEST_POLL
    return run.lane.target is None


class GuardedQueue:
    """Wraps a queue so that no call of it raises, and an outage does not delay callers that enqueue."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._rests_until: dict[str, float] = {}  # by verb: one that cannot send may still receive
        self._silent_until: dict[str, float] = {}
        self._interrupted = threading.Event()

    def announce(self, runs: Iterable[Run]) -> int:
        """Send those of these runs that a worker can take now; how many that were."""
        able = _able(runs)
        return len(able) if able and self._is_sent(able) else 0

    def announce_all(self, runs: Iterable[Run]) -> bool:
        """The same; False, if a hint of the store is needed besides."""
        listed = list(runs)
        return self._is_sent(_able(listed)) and all(map(_needs_no_hint, listed))

    def send(self, sent: Sequence[Sent]) -> None:
        self._is_sent(sent)

    def _is_sent(self, sent: Sequence[Sent]) -> bool:
        if not sent:
            return True
        if self._left("send") > 0:
            return False

        def send() -> bool:
            self._queue.send(sent)
            return True

        return self._try("send", send, False)

    def receive(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
        left = self._left("receive")
        if left > 0:
            self._interrupted.wait(min(left, wait))
            self._interrupted.clear()
            return []
        return self._try("receive", lambda: self._queue.receive(most, wait, queues), [])

    def ack(self, receipts: Sequence[str]) -> None:
        if receipts:
            self._try("ack", lambda: self._queue.ack(receipts), None)

    def give_back(self, receipts: Sequence[str], delay: float) -> None:
        if receipts:
            self._try("give_back", lambda: self._queue.give_back(receipts, delay), None)

    def interrupt(self) -> None:
        self._interrupted.set()
        self._try("interrupt", self._queue.interrupt, None)

    def close(self) -> None:
        self._try("close", self._queue.close, None)

    def _left(self, verb: str) -> float:
        """Seconds until a verb is called again."""
        return self._rests_until.get(verb, 0.0) - time.monotonic()

    def _try(self, verb: str, call: Callable[[], T], otherwise: T) -> T:
        try:
            return call()
        except Exception as error:  # noqa: BLE001  whatever a queue does, runs are in the store
            self._note(verb, error)
            return otherwise

    def _note(self, verb: str, error: Exception) -> None:
        now = time.monotonic()
        self._rests_until[verb] = now + REST
        if now < self._silent_until.get(verb, 0.0):
            return
        self._silent_until[verb] = now + SILENT
        why = without_secrets(f"{type(error).__name__}: {error}").rstrip(".")
        log.warning("the queue cannot %s (%s); while that is so, workers find runs when they poll", verb, why)
