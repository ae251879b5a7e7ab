"""After a fork: the child has its parent's locks and lists, but none of its threads, so these start afresh there.

Without it a child would wait for ever: for a lock that a thread held at that moment, or for a thread that is not there.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Afresh(Protocol):
    """Something that threads of one process share."""

    def start_afresh(self) -> None:
        """In the beginning, and in a forked child."""


_known: WeakSet[Afresh] = WeakSet()


def in_every_child(thing: Afresh) -> None:
    """Have a thing start afresh in every child that this process forks from now on."""
    _known.add(thing)


def _in_child() -> None:
    for thing in list(_known):
        thing.start_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
