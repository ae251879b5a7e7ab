"""Duties and their threads: a duty is a step that says how long to wait until the next. The only sleep in the engine.

A thread has one duty, or several that may wait for each other.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from workbell.errors import StoreUnavailable
from workbell.model.clock import Clock

log = logging.getLogger("workbell.engine")

Step = Callable[[datetime], float | None]

SHORTEST, LONGEST = 0.1, 3.0  # seconds until a step that failed is tried again: twice as long each time
JOIN_WAIT = 20.0  # seconds for the steps under way to end, at a stop


class Batch(NamedTuple):
    """One batch of a duty: how much of it was ours. True while more may follow."""

    done: int
    more: bool

    def __bool__(self) -> bool:
        return self.more


class Waker:
    """Wakes one duty before its time. It is made before the duty, for the parts that wake that duty.

    Wakers of duties that share a thread share its event.
    """

    def __init__(self, event: threading.Event | None = None) -> None:
        self.event = event or threading.Event()
        self.woken = False  # put back by the duty, before the step that this is for

    def wake(self) -> None:
        self.woken = True
        self.event.set()


class Pacing:
    """Pacing of a duty that reads the store: at a time it knows of, at the latest after a poll, or soon after a hint.

    A hint is mostly for a run that is queued already. Claiming that goes first, so it is followed after a gap.
    """

    def __init__(self, poll: float, gap: float = 0.05, waker: Waker | None = None) -> None:
        self.waker = waker or Waker()
        self.poll = timedelta(seconds=poll)
        self._gap = timedelta(seconds=min(gap, poll))
        self._at: datetime | None = None  # none: now
        self._hinted = False
        self._soon = False  # a hint is on its way to being followed

    def hint(self) -> bool:
        """Something may have changed, so that there is something to do before the next read.

        Whether the duty was woken for that: of many hints in a gap the first is enough.
        """
        first, self._soon, self._hinted = not self._soon, True, True
        if first:
            self.waker.wake()
        return first

    def left(self, now: datetime) -> float | None:
        """How many seconds until the next read; none, if it is time."""
        if self._at is not None and self._hinted:
            self._at = min(self._at, now + self._gap)
        self._hinted = False
        # Further away than a poll can only mean that the clock was put back.
        if self._at is not None and timedelta(0) < self._at - now <= self.poll:
            return (self._at - now).total_seconds()
        self._soon = False  # before the read: what changes while it lasts needs another one
        return None

    def again(self, at: datetime | None = None) -> None:
        """Read at this time, or at once."""
        self._at = at


class Duty:
    """A step that is called again and again. None means: only when woken.

    An error never ends a duty: it is logged, and the step is tried again, at first soon and then every few seconds.
    """

    def __init__(
        self, name: str, step: Step, clock: Clock, waker: Waker | None = None, *, longest: float = LONGEST
    ) -> None:
        """`longest`: seconds until a step that keeps failing is tried again, at the most."""
        self.name = name
        self.waker = waker or Waker()
        self.on_return: Callable[[], None] = lambda: None  # called by the first step that succeeds after a failure
        self._step = step
        self._clock = clock
        self._pause = 0.0
        self._longest = longest
        self._ended = False
        self._stepping = threading.RLock()  # a step may itself ask for the stop
        self._next: float | None = 0.0  # a moment of monotonic time; none: only when woken
        self._succeeded = False
        self._owed_since = math.inf  # monotonic: since when a step is due that has not succeeded; may lie ahead

    def left(self) -> float | None:
        """Seconds until the next step; none, if it must be woken for that."""
        if self._ended:
            return None
        if self.waker.woken:
            self.waker.woken = False
            return 0.0
        return None if self._next is None else max(self._next - time.monotonic(), 0.0)

    def take_step(self) -> None:
        with self._stepping:
            if self._ended:
                return
            self._owed_since = min(self._owed_since, time.monotonic())
            try:
                delay = self._step(self._clock.now())
                if self._pause:
                    log.info("%s goes on", self.name)
                    self.on_return()
                self._pause = 0.0
                self._owed_since = math.inf if delay is None else time.monotonic() + delay
                self._succeeded = True
            except Exception as error:
                if not self._pause:
                    if isinstance(error, StoreUnavailable):
                        log.warning("%s waits: %s", self.name, error)
                    else:
                        log.exception("%s failed, and is tried again", self.name)
                self._pause = delay = min(max(self._pause * 2, SHORTEST), self._longest)
            self._next = None if delay is None else time.monotonic() + delay

    def overdue(self) -> float | None:
        """Seconds for which a step has been due without success; 0, if none is. None: no step has succeeded yet."""
        return max(time.monotonic() - self._owed_since, 0.0) if self._succeeded else None

    def end(self) -> None:
        """Start no other step."""
        self._ended = True
        self.waker.event.set()

    def stop(self, timeout: float = JOIN_WAIT) -> None:
        """Let the step under way end, and start no other."""
        self.end()
        if self._stepping.acquire(timeout=timeout):
            self._stepping.release()


class DutyThread:
    """A thread that takes the steps of its duties, each when it is due. Those that are due take turns."""

    def __init__(self, duties: Sequence[Duty], name: str | None = None, event: threading.Event | None = None) -> None:
        """`event` is the one that the wakers of the duties share; one duty has its own."""
        self.duties = duties
        self._event = event or duties[0].waker.event
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"workbell-{name or duties[0].name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        turn = 0
        while not self._ended:
            self._event.clear()
            wait: float | None = None
            for number in range(len(self.duties)):
                duty = self.duties[(turn + number) % len(self.duties)]
                left = duty.left()
                if left == 0:
                    duty.take_step()
                    turn = (turn + number + 1) % len(self.duties)
                    wait = 0
                    break
                if left is not None:
                    wait = left if wait is None else min(wait, left)
            if wait is None or wait > 0:
                self._event.wait(wait)

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> None:
        """Start no other step."""
        self._ended = True
        for duty in self.duties:
            duty.end()
        self._event.set()

    def stop(self, timeout: float = JOIN_WAIT) -> None:
        """Let the step under way end, and start no other."""
        self.end()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)
