"""Bus for notices within this process: written moves of runs, and other facts, for listeners that only observe."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbell.model.run import Attempt, Run
from workbell.model.state import Move, Transition
from workbell.notices.push_message import Message

if TYPE_CHECKING:
    from workbell.notices.listeners import LifecycleEvent

log = logging.getLogger("workbell.engine")


class Notice(msgspec.Struct, frozen=True):
    """A move of a run that was written; where the run itself goes on, also the attempt that it ended."""

    move: Move
    run: Run
    ended: Attempt | None = None
    raised: BaseException | None = None  # by the handler, where it was called by this process


Listener = Callable[[Sequence[Notice]], None]


class Bus:
    """Fans notices out. A listener that raises is logged and otherwise ignored."""

    def __init__(self) -> None:
        self._listeners: list[tuple[Listener, frozenset[Move]]] = []
        self.wanted: frozenset[Move] = frozenset()  # moves that a listener is subscribed to: others need no notice
        self._message_listeners: list[Callable[[Message], None]] = []
        self._fact_listeners: list[tuple[Callable[[LifecycleEvent], None], frozenset[str]]] = []
        self._facts_wanted: frozenset[str] = frozenset()

    def subscribe(self, listener: Listener, moves: Iterable[Move] = Move) -> Callable[[], None]:
        """Subscribe a listener to these moves; call the result to unsubscribe."""
        entry = (listener, frozenset(moves))
        self._listeners.append(entry)
        self._count_wanted()

        def stop() -> None:
            self._listeners.remove(entry)
            self._count_wanted()

        return stop

    def _count_wanted(self) -> None:
        self.wanted = frozenset(move for _, moves in self._listeners for move in moves)
        self._facts_wanted = frozenset(kind for _, kinds in self._fact_listeners for kind in kinds)

    def wants_fact(self, kind: str) -> bool:
        """Whether a listener is subscribed to this type of fact."""
        return kind in self._facts_wanted

    def on_fact(self, listener: Callable[[LifecycleEvent], None], kinds: Iterable[str]) -> Callable[[], None]:
        """Subscribe a listener to facts (what is no move of a run), by type; call the result to unsubscribe."""
        entry = (listener, frozenset(kinds))
        self._fact_listeners.append(entry)
        self._count_wanted()

        def stop() -> None:
            self._fact_listeners.remove(entry)
            self._count_wanted()

        return stop

    def publish_facts(self, facts: Iterable[LifecycleEvent]) -> None:
        """Publish facts: what is no move of a run."""
        for fact in facts:
            for listener, kinds in list(self._fact_listeners):
                if fact.type in kinds:
                    try:
                        listener(fact)
                    except Exception:
                        log.exception("a listener failed")

    def on_message(self, listener: Callable[[Message], None]) -> Callable[[], None]:
        """Subscribe a listener to messages to people; call the result to unsubscribe."""
        self._message_listeners.append(listener)
        return lambda: self._message_listeners.remove(listener)

    def send(self, message: Message) -> None:
        """Send a message to people."""
        for listener in list(self._message_listeners):
            try:
                listener(message)
            except Exception:
                log.exception("a listener failed")

    def moved(self, pairs: Sequence[tuple[Run, Transition]]) -> None:
        """Publish transitions that were written, as far as somebody listens."""
        wanted = [pair for pair in pairs if pair[1].move in self.wanted]
        if wanted:
            self.publish([Notice(move.move, move.after(run), move.ended, move.raised) for run, move in wanted])

    def publish(self, notices: Sequence[Notice]) -> None:
        for listener, moves in list(self._listeners):
            wanted = notices if len(moves) == len(Move) else [one for one in notices if one.move in moves]
            if not wanted:
                continue
            try:
                listener(wanted)
            except Exception:
                log.exception("a listener failed")
