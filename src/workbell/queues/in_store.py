"""The queue inside the store: claims come straight from the lanes, and there is nothing to send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from workbell.model.limit import Limit
from workbell.model.run import Lane, Run
from workbell.queues.crowd import Crowd
from workbell.queues.known_tenants import KnownTenants
from workbell.queues.lanes import choose, interleave
from workbell.queues.port import Claimant, no_limits
from workbell.queues.rooms import Rooms
from workbell.queues.shares import Shares
from workbell.stores.port import Head, Pick, Store

HEADS = 500  # lanes looked at in one survey
CLAIMS = 5  # served by one survey: so long may a more urgent run, or another tenant's first one, go unseen
FRESH = 0.5  # seconds that a survey is good for: so long may a pause go unseen


class InStoreQueue:
    """Keeps what it saw of the lanes for a few claims, as long as they come back full; then looks again."""

    def __init__(self, store: Store, claims_per_look: int = CLAIMS, fresh: float = FRESH) -> None:
        self._store = store
        self._claims_per_look = claims_per_look
        self._fresh = timedelta(seconds=fresh)
        self._claims = 0
        self._heads: list[Head] = []
        self._limits: dict[int, Sequence[Limit]] = {}  # of those of these lanes that have any
        self._rooms = Rooms(store)
        self._shares = Shares()
        self._tenants = KnownTenants(store)
        self._crowd = Crowd(store)
        self._looked_at: datetime | None = None
        self._after = -1
        self._turn = 0
        self.free_at: datetime | None = None

    def send(self, run_ids: Sequence[str]) -> None:
        self._store.wake()

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        looked = False
        self.free_at = None
        if self._looked_at is not None and abs(now - self._looked_at) > self._fresh:
            self._heads = []
        ends: set[int] = set()
        while True:
            if not self._heads:
                self._look(claimant, now)
                looked = True
                if self._after in ends:  # all the way round: where every page is full, there is no last one
                    self._heads = []
                    return []
                ends.add(self._after)
            taken = self._take(claimant, limit, now, limit if slots is None else min(slots, limit))
            if taken:
                return taken
            if looked and self._after < 0:  # the last page of lanes: nothing here for this claimant
                return []

    def _take(self, claimant: Claimant, limit: int, now: datetime, slots: int) -> list[Run]:
        self._claims += 1
        self._turn += 1
        until = now + claimant.lease
        taken: list[Run] = []
        used_up = False
        if not self._limits:
            picks = choose(self._heads, limit, self._turn, claimant.serves, shares=self._shares)
            if picks:
                taken = self._store.claim(picks, limit, worker=claimant.worker, now=now, lease_until=until)
        else:
            picks = self._within(
                choose(self._heads, limit, self._turn, claimant.serves, self._room(limit, slots), self._shares), slots
            )
            if picks:
                limits = {pick.lane_id: self._limits[pick.lane_id] for pick in picks if pick.lane_id in self._limits}
                taken = self._store.claim(
                    picks, limit, worker=claimant.worker, now=now, lease_until=until, limits=limits
                )
                # Until the next claim some of these may have ended: without a look their lane would get nothing then,
                # and one with more room would take its share.
                used_up = self._rooms.note(taken)
        if len(self._heads) > 1:
            self._shares.note(run.tenant for run in taken)
            taken = interleave(taken, self._shares.weights)
        if used_up or len(taken) < limit or self._claims >= self._claims_per_look:
            self._heads = []
        return taken

    def _room(self, limit: int, slots: int) -> Callable[[Lane], int]:
        """How many runs of a lane its limits leave, as far as we know."""
        return lambda lane: self._rooms.of(lane.id, slots) if lane.id in self._limits else limit

    def _within(self, picks: Sequence[Pick], slots: int) -> list[Pick]:
        """Of limited lanes together no more than there are slots."""
        found = []
        for pick in picks:
            if pick.lane_id in self._limits:
                pick = pick._replace(quota=min(pick.quota, slots))
                slots -= pick.quota
            if pick.quota > 0:
                found.append(pick)
        return found

    def _look(self, claimant: Claimant, now: datetime) -> None:
        """The next lanes in the order of their ids; from the start again when the end was reached."""
        self._heads = self._store.survey(self._after, HEADS)
        if self._after >= 0 and not self._heads:
            self._heads = self._store.survey(-1, HEADS)
        self._after = -1
        if len(self._heads) >= HEADS:
            self._after = self._heads[-1].lane_id
            self._heads += self._crowd.beside(self._heads, now)
        self._claims = 0
        self._looked_at = now
        self._tenants.look(now)
        self._shares.weights = self._tenants.weights
        self._limits = {}
        if claimant.limits is not no_limits or self._tenants.limits:
            served = (head for head in self._heads if claimant.serves(head.lane))
            self._limits = {head.lane_id: found for head in served if (found := self._limits_on(claimant, head.lane))}
        if self._limits:
            self._rooms.look(self._limits, now)
            free_at = self._rooms.free_at(now)
            if free_at is not None and (self.free_at is None or free_at < self.free_at):
                self.free_at = free_at

    def _limits_on(self, claimant: Claimant, lane: Lane) -> Sequence[Limit]:
        of_tenant = self._tenants.limits.get(lane.tenant)
        of_job = claimant.limits(lane)
        return of_job if of_tenant is None else (*of_job, of_tenant)

    def done(self, run_ids: Sequence[str]) -> None:
        """Nothing: a finished run is no longer in its lane."""

    def close(self) -> None: ...
