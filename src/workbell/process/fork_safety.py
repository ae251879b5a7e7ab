"""Fork safety: objects with threads and locks make new ones in a forked child.

The child has its parent's locks and lists, but none of its threads. Without this it would wait for ever: for a lock
that a thread held at that moment, or for a thread that is not there.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class ForkSafe(Protocol):
    """An object with state that threads of one process share."""

    def make_process_state(self) -> None:
        """Make the locks, threads and lists of one process: called by the constructor, and in a forked child."""


_known: WeakSet[ForkSafe] = WeakSet()


def remake_after_fork(item: ForkSafe) -> None:
    """Register an object, to make its process state anew in every child that this process forks from now on."""
    _known.add(item)


def _in_child() -> None:
    for item in list(_known):
        item.make_process_state()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
