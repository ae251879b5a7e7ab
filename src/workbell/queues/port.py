"""What a queue must do. It carries run ids and nothing else; the store is the truth, and a lost queue loses no run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from workbell.model.run import Lane, Run

MESSAGE_VERSION = 1


class Claimant(NamedTuple):
    """Who claims, for how long, and which lanes it can serve."""

    worker: str
    lease: timedelta
    serves: Callable[[Lane], bool]


class Queue(Protocol):
    """The contract of a queue; `workbell.testing.contracts` is its test."""

    def send(self, run_ids: Sequence[str]) -> None:
        """Announce runs that are queued in the store; called after the commit that queued them."""

    def claim(self, claimant: Claimant, limit: int, now: datetime) -> list[Run]:
        """Up to `limit` runs, each claimed in the store under a lease; in the order to be worked on."""

    def done(self, run_ids: Sequence[str]) -> None:
        """What came of these is written; their messages can go."""

    def close(self) -> None: ...
