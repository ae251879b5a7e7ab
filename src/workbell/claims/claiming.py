"""Claiming: queued runs under a lease, from the lanes that fairness, priorities, limits and pauses leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from workbell.claims.lane_survey import CLAIMS, SURVEY_VALID, LaneSelection
from workbell.model.limit import Limit
from workbell.model.run import Lane, Run
from workbell.stores.port import LeaseTerms, Store


def no_limits(_lane: Lane) -> Sequence[Limit]:
    return ()


class Claimant(NamedTuple):
    """A worker that claims: its name, the length of its leases, which lanes it serves, and what limits their runs."""

    worker: str
    lease: timedelta
    serves: Callable[[Lane], bool]
    limits: Callable[[Lane], Sequence[Limit]] = no_limits


class FairClaims:
    """Claims of one process; `LaneSelection` says which lanes a claim takes from."""

    def __init__(self, store: Store, claims_per_survey: int = CLAIMS, fresh: float = SURVEY_VALID) -> None:
        self._store = store
        self._lanes = LaneSelection(store, claims_per_survey, fresh)

    @property
    def free_at(self) -> datetime | None:
        """When the earliest run may start that a rate delayed at the last claim; None: no rate delayed one."""
        return self._lanes.free_at

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        """Up to `limit` runs, each claimed in the store under a lease; in the order to be worked on.

        Of limited jobs no more than `slots`, if given: a claimed run that waits here would block its limit for others.
        """
        limits_of = None if claimant.limits is no_limits else claimant.limits
        most = limit if slots is None else min(slots, limit)
        until = now + claimant.lease
        for picks, limits in self._lanes.offers(claimant.serves, limits_of, limit, most, now):
            taken = self._store.runs.claim(picks, limit, LeaseTerms(claimant.worker, now, until), limits=limits)
            taken = self._lanes.note(taken, limit)
            if taken:
                return taken
        return []
