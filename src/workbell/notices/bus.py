"""Notices within this process: what really became of runs, for listeners that only look on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from workbell.model.run import Attempt, Run
from workbell.model.state import Move
from workbell.notices.message import Message

log = logging.getLogger("workbell.engine")


class Notice(msgspec.Struct, frozen=True):
    """A move of a run that was written; where the run itself goes on, also the attempt that it ended."""

    move: Move
    run: Run
    ended: Attempt | None = None


Listener = Callable[[Sequence[Notice]], None]


class Bus:
    """Fans notices out. A listener that raises is logged and otherwise ignored."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._ears: list[Callable[[Message], None]] = []

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear of every move; call the answer to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def on_message(self, ear: Callable[[Message], None]) -> Callable[[], None]:
        """Hear what is sent to people; call the answer to stop."""
        self._ears.append(ear)
        return lambda: self._ears.remove(ear)

    def tell(self, message: Message) -> None:
        for ear in list(self._ears):
            try:
                ear(message)
            except Exception:
                log.exception("a listener failed")

    def publish(self, notices: Sequence[Notice]) -> None:
        for listener in list(self._listeners):
            try:
                listener(notices)
            except Exception:
                log.exception("a listener failed")
