"""Readiness of a supervisor's processes: whether the store has answered the polls of each of them lately.

Written by the supervisor's loop, read by the thread that answers probes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbell.settings import POLL

POLLS = 2  # overdue ones; with the one before them, which was answered, that is three polls
SLACK = 3.0  # seconds: heartbeats come every second, and later on a busy machine
LOOP_PATIENCE = 10.0  # seconds that a step of the supervisor may take; usually it is half a second


def patience_of(poll: float) -> float:
    """Seconds for which a poll may be overdue until a process counts as not ready."""
    return POLLS * poll + SLACK


class Position(NamedTuple):
    """A process as its last heartbeat described it."""

    answered_at: float | None = None  # monotonic: up to then no poll was overdue; none: no poll was answered yet
    patience: float = patience_of(POLL)
    drained: bool = False


class Readiness:
    def __init__(self, names: Sequence[str], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._positions = dict.fromkeys(names, Position())  # its keys never change: another thread reads it
        self._monotonic = monotonic
        self._stepped_at = monotonic()
        self.stopping = False

    def note_step(self) -> None:
        """The supervisor has taken a step of its loop."""
        self._stepped_at = self._monotonic()

    def note_start(self, name: str, poll: float) -> None:
        """The process at this position polls so often. One that it replaces is at work until it is ready."""
        if name in self._positions:
            self._positions[name] = self._positions[name]._replace(patience=patience_of(poll))

    def note_heartbeat(self, name: str, silent: float | None, *, drained: bool) -> None:
        """`silent`: for how long a poll has been overdue there."""
        before = self._positions.get(name)
        if before is None or silent is None:
            return
        answered_at = self._monotonic() - silent
        if before.answered_at is not None:  # two processes have this position while one replaces the other
            answered_at = max(answered_at, before.answered_at)
        self._positions[name] = before._replace(answered_at=answered_at, drained=drained)

    def stalled(self) -> str | None:
        """Why the supervisor is not alive, in a sentence; none: its loop runs."""
        since = self._monotonic() - self._stepped_at
        return f"the supervisor has been busy with one step for {since:.0f} s" if since > LOOP_PATIENCE else None

    def silent(self) -> str | None:
        """Which process the store does not answer, in a sentence; none: all polls are answered."""
        stalled = self.stalled()
        if stalled is not None:
            return stalled
        now = self._monotonic()
        for name, position in self._positions.items():
            if position.answered_at is None:
                return f"{name} has not polled the store yet"
            overdue = now - position.answered_at
            if overdue > position.patience:
                return f"{name}: no poll of the store has succeeded for {overdue:.0f} s"
        return None

    def problem(self) -> str | None:
        """Why this is not ready to take runs, in a sentence; none: it is ready."""
        if self.stopping:
            return "stopping"
        drained = next((name for name, position in self._positions.items() if position.drained), None)
        return self.silent() or (None if drained is None else f"{drained} is drained")
