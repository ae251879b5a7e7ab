"""Keyed writes: with a deduplication key or a tag to replace, they may wait for the lock of another transaction.

A caller that enqueues with `key=` and `connection=` locks that key's row until its own transaction ends; an enqueue
with the same key has to wait. Only that one may wait: in a shared commit all callers would. So keyed writes are never
in one transaction with plain ones, and those of one process share a commit only as long as none waits for more than a
tenth of a second:

1. Together, in the order of their keys. A lock that takes longer than `LOCK_SECONDS` ends the transaction.
2. Then each by itself, in its own caller's thread. Those that were only blocked by others of the batch are done now.
3. The rest keep trying, on one of a few connections: they take turns, so that one key that is locked for long does
   not block the others. A write for a key that another caller already waits for begins here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from workbell.errors import StoreUnavailable
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.database import LOCK_SECONDS, Locked
from workbell.stores.group_commit import GroupCommit
from workbell.stores.turns import Turn, Turns

Item = TypeVar("Item")
Answer = TypeVar("Answer")

DEADLINE = 15.0  # seconds for all of it
SLICE = 0.5  # seconds to wait for a lock before others that wait have their turn
ALONE = 3 / 8  # of the connections for those that are written by themselves
WAITING = 1 / 4  # of the connections on which locks are waited for
NAMED = 3  # names in a message


class LockName(NamedTuple):
    """A lock that a write may have to wait for, and how messages name it."""

    identity: tuple[str | None, ...]
    text: str


class LockWaits:
    """Bound on the connections of one process that wait for keys, and the keys they wait for."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self.alone = Turns()
        self.waiting = Turns()
        self.resize(self._connections)
        self.wanted: dict[Turn, list[LockName]] = {}  # the locks that each waiting caller wants

    def resize(self, connections: int) -> None:
        """The process may have so many connections."""
        self._connections = connections
        self.alone.resize(max(int(connections * ALONE), 1))
        self.waiting.resize(max(int(connections * WAITING), 1))

    def are_wanted(self, names: list[LockName]) -> bool:
        """Whether another caller already waits for one of these locks."""
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
        self._shared: GroupCommit[Item, Answer] = GroupCommit(lambda items: write(items, LOCK_SECONDS), written)

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        """Write the items of one caller, all or nothing; waits for locks as long as a deadline allows."""
        end = time.monotonic() + DEADLINE
        names = list(dict.fromkeys(name for item in items for name in self._names(item)))
        if not self._waits.are_wanted(names):
            with suppress(Locked):
                return self._shared.submit(items)
            with suppress(Locked):
                return self._take_turn(self._waits.alone, items, LOCK_SECONDS, end)
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
