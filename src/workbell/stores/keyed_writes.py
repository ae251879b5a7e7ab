"""Writes that another transaction can hold up: those with a key, and those that replace a tag.

A caller that enqueues with `key=` and `connection=` has that key's row locked until its own transaction ends, and who
asks for the same key meanwhile has to wait. Only that one: a wait inside of a commit that is shared would be
everybody's. So these are never in one transaction with plain writes, and those of one process share a commit only as
long as nobody has to wait for more than a moment:

1. Together, in the order of their keys. A lock that is not to be had within `MOMENT` ends the transaction.
2. Then each by itself, in its own caller's thread. Those that were only in bad company are done now.
3. Who has to wait goes on trying, on one of a few connections: they take turns, so that one key that is locked for
   long does not keep the others out. Whoever asks for what somebody already waits for begins here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from workbell.errors import StoreUnavailable
from workbell.process.fork_safety import in_every_child
from workbell.stores.database import Locked
from workbell.stores.group_commit import GroupCommit
from workbell.stores.turns import Turn, Turns

Item = TypeVar("Item")
Answer = TypeVar("Answer")

DEADLINE = 15.0  # seconds for all of it
MOMENT = 0.1  # seconds to wait for a lock while others wait for us
SLICE = 0.5  # seconds to wait for a lock before others that wait have their turn
ALONE = 3 / 8  # of the connections for those that are written by themselves
WAITING = 1 / 4  # of the connections on which locks are waited for
NAMED = 3  # names in a message


class LockName(NamedTuple):
    """A lock that a write may have to wait for, and how messages name it."""

    place: tuple[str | None, ...]
    text: str


class LockWaits:
    """How many connections may be used for waiting, and what is waited for, in one process."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        self.alone = Turns()
        self.waiting = Turns()
        self.resize(self._connections)
        self.wanted: dict[Turn, list[LockName]] = {}  # who waits, and for what

    def resize(self, connections: int) -> None:
        """The process may have so many connections."""
        self._connections = connections
        self.alone.resize(max(int(connections * ALONE), 1))
        self.waiting.resize(max(int(connections * WAITING), 1))

    def are_wanted(self, names: list[LockName]) -> bool:
        """Whether somebody waits for one of these already."""
        for turn, wanted in list(self.wanted.items()):
            if turn.gone:
                self.wanted.pop(turn, None)
            elif not set(names).isdisjoint(wanted):
                return True
        return False


class KeyedWrites(Generic[Item, Answer]):
    """Group commit for items that may have to wait for locks. `names` says what an item may wait for."""

    def __init__(
        self,
        write: Callable[[Sequence[Item], float], list[Answer]],
        written: Callable[[Sequence[Item]], list[Answer] | None],
        names: Callable[[Item], list[LockName]],
        waits: LockWaits,
    ) -> None:
        self._write = write
        self._names = names
        self._waits = waits
        self._shared: GroupCommit[Item, Answer] = GroupCommit(lambda items: write(items, MOMENT), written)

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        """Write the items of one caller, all or nothing; waits for locks as long as a deadline allows."""
        end = time.monotonic() + DEADLINE
        names = list(dict.fromkeys(name for item in items for name in self._names(item)))
        if not self._waits.are_wanted(names):
            with suppress(Locked):
                return self._shared.submit(items)
            with suppress(Locked):
                return self._take_turn(self._waits.alone, items, MOMENT, end)
        return self._wait(items, names, end)

    def _wait(self, items: Sequence[Item], names: list[LockName], end: float) -> list[Answer]:
        waits, turn = self._waits, Turn()
        with turn.here:
            try:
                waits.wanted[turn] = names
                while True:
                    with suppress(Locked):
                        return self._take_turn(waits.waiting, items, SLICE, end)
                    if time.monotonic() >= end:
                        raise _gave_up(names)
            finally:
                waits.wanted.pop(turn, None)

    def _take_turn(self, turns: Turns, items: Sequence[Item], lock: float, end: float) -> list[Answer]:
        turn = Turn()
        with turn.here:
            try:
                if not turns.take(turn, max(end - time.monotonic(), 0.0)):
                    raise Locked
                return self._write(items, lock)
            finally:
                turns.give_back(turn)


def _gave_up(names: list[LockName]) -> StoreUnavailable:
    named = ", ".join(one.text for one in names[:NAMED]) + (" and others" if len(names) > NAMED else "")
    which = f"one of these: {named}" if len(names) > 1 else named
    return StoreUnavailable(
        f"Another transaction held the lock on {which} for over {DEADLINE:g} s; nothing was written. Commit or roll "
        "back the transaction that enqueued or emitted it with connection=, then repeat the call."
    )
