"""Publisher of a store: it gets the runs that the store ends by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from workbell.model.run import Run
from workbell.model.state import Transition

Pair = tuple[Run, Transition]  # a run as it was read, and its transition


class Publisher(Protocol):
    """Gets the runs that a store ends by itself, because new ones replace them."""

    def publish(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """The same, each with the events that are to be part of the write."""

    def written(self, pairs: Sequence[Pair]) -> None:
        """These were committed."""


class NoPublisher:
    """Publisher of a store without subscribers."""

    def publish(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        return pairs

    def written(self, pairs: Sequence[Pair]) -> None:
        pass
