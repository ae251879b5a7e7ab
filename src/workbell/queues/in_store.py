"""The queue inside the store: claims come straight from the lanes, and there is nothing to send."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from workbell.model.run import Run
from workbell.queues.lanes import choose
from workbell.queues.port import Claimant
from workbell.stores.port import Head, Store

HEADS = 500  # lanes looked at in one survey
CLAIMS = 5  # served by one survey: so long may a more urgent run, or another tenant's first one, go unseen


class InStoreQueue:
    """Keeps what it saw of the lanes for a few claims, as long as they come back full; then looks again."""

    def __init__(self, store: Store, claims_per_look: int = CLAIMS) -> None:
        self._store = store
        self._claims_per_look = claims_per_look
        self._claims = 0
        self._heads: list[Head] = []
        self._after = -1
        self._turn = 0

    def send(self, run_ids: Sequence[str]) -> None:
        self._store.wake()

    def claim(self, claimant: Claimant, limit: int, now: datetime) -> list[Run]:
        looked = False
        while True:
            if not self._heads:
                self._look()
                looked = True
            taken = self._take(claimant, limit, now)
            if taken:
                return taken
            if looked and self._after < 0:  # the last page of lanes: nothing here for this claimant
                return []

    def _take(self, claimant: Claimant, limit: int, now: datetime) -> list[Run]:
        self._claims += 1
        self._turn += 1
        picks = choose(self._heads, limit, self._turn, claimant.serves)
        taken: list[Run] = []
        if picks:
            until = now + claimant.lease
            taken = self._store.claim(picks, limit, worker=claimant.worker, now=now, lease_until=until)
        if len(taken) < limit or self._claims >= self._claims_per_look:
            self._heads = []
        return taken

    def _look(self) -> None:
        """The next lanes in the order of their ids; from the start again when the end was reached."""
        self._heads = self._store.survey(self._after, HEADS)
        if self._after >= 0 and not self._heads:
            self._heads = self._store.survey(-1, HEADS)
        self._after = self._heads[-1].lane_id if len(self._heads) >= HEADS else -1
        self._claims = 0

    def done(self, run_ids: Sequence[str]) -> None:
        """Nothing: a finished run is no longer in its lane."""

    def close(self) -> None: ...
