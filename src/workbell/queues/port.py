"""What a queue must do. It carries run ids and nothing else; the store is the truth, and a lost queue loses no run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from workbell.model.limit import Limit
from workbell.model.run import Lane, Run

MESSAGE_VERSION = 1


def no_limits(_lane: Lane) -> Sequence[Limit]:
    return ()


class Claimant(NamedTuple):
    """Who claims, for how long, which lanes it can serve, and what limits their runs."""

    worker: str
    lease: timedelta
    serves: Callable[[Lane], bool]
    limits: Callable[[Lane], Sequence[Limit]] = no_limits


class Queue(Protocol):
    """The contract of a queue; `workbell.testing.contracts` is its test."""

    def send(self, run_ids: Sequence[str]) -> None:
        """Announce runs that are queued in the store; called after the commit that queued them."""

    @property
    def free_at(self) -> datetime | None:
        """When the earliest run may start that a rate held back at the last claim; none: no rate held one back."""

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        """Up to `limit` runs, each claimed in the store under a lease; in the order to be worked on.

        Of limited jobs no more than `slots`, if that is said: what waits here would hold up others elsewhere.
        """

    def done(self, run_ids: Sequence[str]) -> None:
        """What came of these is written; their messages can go."""

    def close(self) -> None: ...
