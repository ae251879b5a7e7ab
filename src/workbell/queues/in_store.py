"""The queue inside the store: claims come straight from the lanes, and there is nothing to send."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from workbell.claims.selection import CLAIMS, FRESH, LaneSelection
from workbell.model.run import Run
from workbell.queues.port import Claimant, no_limits
from workbell.stores.port import Store


class InStoreQueue:
    """Queue adapter over the store's own table of runs; `LaneSelection` says which lanes a claim takes from."""

    def __init__(self, store: Store, claims_per_survey: int = CLAIMS, fresh: float = FRESH) -> None:
        self._store = store
        self._lanes = LaneSelection(store, claims_per_survey, fresh)

    def send(self, run_ids: Sequence[str]) -> None:
        self._store.wake()

    @property
    def free_at(self) -> datetime | None:
        return self._lanes.free_at

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        limits_of = None if claimant.limits is no_limits else claimant.limits
        most = limit if slots is None else min(slots, limit)
        until = now + claimant.lease
        for picks, limits in self._lanes.offers(claimant.serves, limits_of, limit, most, now):
            taken = self._store.runs.claim(
                picks, limit, worker=claimant.worker, now=now, lease_until=until, limits=limits
            )
            taken = self._lanes.note(taken, limit)
            if taken:
                return taken
        return []

    def done(self, run_ids: Sequence[str]) -> None:
        """Nothing: a finished run is no longer in its lane."""

    def close(self) -> None: ...
