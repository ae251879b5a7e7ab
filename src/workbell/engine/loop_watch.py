"""Watch on the event loop: warns of a handler that blocks it, because no other async handler goes on meanwhile.

While works are held, a callback is scheduled on the loop a few times a second; without any, none is.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from workbell.engine.duty import Waker
from workbell.engine.held_runs import HeldRuns
from workbell.engine.stack_frames import innermost
from workbell.engine.work import Work
from workbell.logs.facts import run_facts
from workbell.model.clock import Clock

log = logging.getLogger("workbell.engine")

PACE = 0.25  # seconds between two callbacks
LIMIT = 1.0  # seconds without an answer, after which the loop counts as blocked
NAMED = 3  # runs in a warning

REMEDY = "Use await, or asyncio.to_thread(…), or make the handler a plain function, which gets a thread."


class LoopWatch:
    """Watch on one event loop; `resting` says that it must be woken when there are works again."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, held: HeldRuns, waker: Waker | None = None
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._held = held
        self.waker = waker or Waker()
        self._thread: int | None = None  # the loop's
        self._asked_at = 0.0
        self._waits = False  # for an answer
        self._blocked: dict[str, Any] | None = None  # the facts of the blockage that was logged
        self._last: float | None = None
        self._before: Sequence[Work] = ()
        self._lock = threading.Lock()  # between asking about a blockage and the answer that ends it
        self.resting = True
        loop.call_soon_threadsafe(self._learn)

    def _learn(self) -> None:
        """Note the thread of the loop, on the loop: a handler may block it before the first callback."""
        self._thread = threading.get_ident()

    def step(self, _now: datetime) -> float | None:
        self.resting = True  # before reading: what is delivered from now on wakes us
        works = self._held.busy()
        if not works and not self._waits:
            self._last = None
            return None
        self.resting = False
        moment = self._clock.monotonic()
        if self._last is not None and moment - self._last >= PACE + LIMIT:
            self._warn_of_standstill(moment - self._last)
            if self._blocked is None:
                self._asked_at = moment  # the loop could not answer either; from now on it can
        elif self._waits and moment - self._asked_at >= LIMIT and self._blocked is None:
            self._warn_of_blockage(works, moment - self._asked_at)
        if not self._waits and any(work.on_loop for work in works) and not self._ask(moment):
            return None
        self._last, self._before = moment, works
        return PACE

    def _ask(self, moment: float) -> bool:
        self._waits, self._asked_at = True, moment
        try:
            self._loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # it is closed
            self._waits = False
            return False
        return True

    def _answer(self) -> None:
        """Callback on the loop: it is not, or no longer, blocked."""
        with self._lock:
            facts, self._blocked = self._blocked, None
            if facts is not None:
                lasted = self._clock.monotonic() - self._asked_at
                facts["duration_s"] = round(lasted, 3)
                log.warning("the event loop goes on, after %.1f s in which it was blocked", lasted, extra=facts)
            self._waits = False

    def _warn_of_blockage(self, works: Sequence[Work], lasted: float) -> None:
        frame = None if self._thread is None else sys._current_frames().get(self._thread)
        task = asyncio.current_task(self._loop)
        blocked_at = innermost(frame)
        del frame
        if blocked_at is None:
            return  # no code blocks it: the machine is slow
        work = next((work for work in works if task is not None and work.task is task), None)
        if work is None:
            facts: dict[str, Any] = {"blocked_at": str(blocked_at)}
            whose = "the application's own code, or a task that a handler has started,"
        else:
            facts = run_facts(work.run) | {"blocked_at": str(blocked_at)}
            whose = f"job {work.run.job!r} (run {work.run.id})"
        text = "the event loop is blocked: %s has blocked it for %.1f s, at %s. Nothing else on it goes on. %s"
        with self._lock:
            if self._waits:  # else the answer has just come
                self._blocked = facts
                log.warning(text, whose, lasted, blocked_at, REMEDY, extra=facts)

    def _warn_of_standstill(self, lasted: float) -> None:
        """Warn that not even this thread ran, so that no stack was read; the runs held before may be the cause."""
        named = ", ".join(f"{work.run.job!r} (run {work.run.id})" for work in self._before[:NAMED])
        more = f" and {len(self._before) - NAMED} more" if len(self._before) > NAMED else ""
        log.warning(
            "nothing in this process went on for %.1f s: it was stopped, or something held the interpreter "
            "(native code that does not release the lock). In progress were %s%s.",
            lasted,
            named or "no runs",
            more,
            extra={"duration_s": round(lasted, 3)},
        )
