"""Notices within this process: what really became of runs, for listeners that only look on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from workbell.model.run import Run
from workbell.model.state import Move

log = logging.getLogger("workbell.engine")


class Notice(msgspec.Struct, frozen=True):
    """A move of a run that was written."""

    move: Move
    run: Run


Listener = Callable[[Sequence[Notice]], None]


class Bus:
    """Fans notices out. A listener that raises is logged and otherwise ignored."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear of every move; call the answer to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, notices: Sequence[Notice]) -> None:
        for listener in list(self._listeners):
            try:
                listener(notices)
            except Exception:
                log.exception("a listener failed")
