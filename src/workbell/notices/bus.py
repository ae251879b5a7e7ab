"""Notices within this process: what really became of runs, and other facts, for listeners that only look on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbell.model.run import Attempt, Run
from workbell.model.state import Move
from workbell.notices.push_message import Message

if TYPE_CHECKING:
    from workbell.notices.listeners import LifecycleEvent

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
        self._listeners: list[tuple[Listener, frozenset[Move]]] = []
        self._wanted: frozenset[Move] = frozenset()
        self._ears: list[Callable[[Message], None]] = []
        self._fact_ears: list[tuple[Callable[[LifecycleEvent], None], frozenset[str]]] = []
        self._facts_wanted: frozenset[str] = frozenset()

    def wants(self, move: Move) -> bool:
        """Whether anybody hears of this move: a notice that nobody hears need not be made."""
        return move in self._wanted

    def subscribe(self, listener: Listener, moves: Iterable[Move] = Move) -> Callable[[], None]:
        """Hear of these moves; call the answer to stop."""
        entry = (listener, frozenset(moves))
        self._listeners.append(entry)
        self._look()

        def stop() -> None:
            self._listeners.remove(entry)
            self._look()

        return stop

    def _look(self) -> None:
        self._wanted = frozenset(move for _, moves in self._listeners for move in moves)
        self._facts_wanted = frozenset(kind for _, kinds in self._fact_ears for kind in kinds)

    def wants_fact(self, kind: str) -> bool:
        """Whether anybody hears of this type of what is no move of a run."""
        return kind in self._facts_wanted

    def on_fact(self, ear: Callable[[LifecycleEvent], None], kinds: Iterable[str]) -> Callable[[], None]:
        """Hear of what is no move of a run, by its types; call the answer to stop."""
        entry = (ear, frozenset(kinds))
        self._fact_ears.append(entry)
        self._look()

        def stop() -> None:
            self._fact_ears.remove(entry)
            self._look()

        return stop

    def state(self, facts: Iterable[LifecycleEvent]) -> None:
        """Tell of what is no move of a run."""
        for fact in facts:
            for ear, kinds in list(self._fact_ears):
                if fact.type in kinds:
                    try:
                        ear(fact)
                    except Exception:
                        log.exception("a listener failed")

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
        for listener, moves in list(self._listeners):
            heard = notices if len(moves) == len(Move) else [one for one in notices if one.move in moves]
            if not heard:
                continue
            try:
                listener(heard)
            except Exception:
                log.exception("a listener failed")
