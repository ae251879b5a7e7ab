"""Lane survey: reads which lanes have queued runs, and offers them to claims until the next survey."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from workbell.claims.fairness import FairShares, TenantSample, interleave
from workbell.claims.lane_choice import choose_lanes
from workbell.claims.limit_room import LimitRoom
from workbell.claims.tenant_settings import TenantCache
from workbell.model.limit import Limit
from workbell.model.run import Lane, Run
from workbell.stores.port import Head, Pick, Store

HEADS = 500  # lanes that one survey returns
CLAIMS = 5  # served by one survey: a more urgent run, or another tenant's first one, goes unseen for so long
SURVEY_VALID = 0.5  # seconds that a survey is good for: so long may a pause go unseen


# A claim as the store takes it: picks of lanes, and the limits of these by lane id, if any lane has some.
Offer = tuple[Sequence[Pick], Mapping[int, Sequence[Limit]] | None]


class LaneSelection:
    """The lanes that the last survey returned, and the choice among them.

    A survey serves a few claims, as long as they come back full; then the next one is made.
    """

    def __init__(self, store: Store, claims_per_survey: int = CLAIMS, fresh: float = SURVEY_VALID) -> None:
        self._store = store
        self._claims_per_survey = claims_per_survey
        self._fresh = timedelta(seconds=fresh)
        self._claims = 0
        self._heads: list[Head] = []
        self._limits: dict[int, Sequence[Limit]] = {}  # of those of these lanes that have any
        self._room = LimitRoom(store)
        self._shares = FairShares()
        self._tenants = TenantCache(store)
        self._sample = TenantSample(store)
        self._surveyed_at: datetime | None = None
        self._after = -1
        self._turn = 0
        self.free_at: datetime | None = None  # when the earliest run may start that a rate delayed

    def offers(
        self,
        serves: Callable[[Lane], bool],
        limits_of: Callable[[Lane], Sequence[Limit]] | None,
        limit: int,
        slots: int,
        now: datetime,
    ) -> Iterator[Offer]:
        """The offers of one claim, to be tried until one gives runs (see `note`): at most once round all lanes.

        `limit` is how many runs the claim may take, `slots` how many of limited lanes.
        """
        surveyed = False
        self.free_at = None
        if self._surveyed_at is not None and abs(now - self._surveyed_at) > self._fresh:
            self._heads = []
        ends: set[int] = set()
        while True:
            if not self._heads:
                self._survey(serves, limits_of, now)
                surveyed = True
                if self._after in ends:  # all the way round: where every page is full, there is no last one
                    self._heads = []
                    return
                ends.add(self._after)
            self._claims += 1
            self._turn += 1
            if not self._limits:
                picks = choose_lanes(self._heads, limit, self._turn, serves, shares=self._shares)
                limits = None
            else:
                room = self._room_of(limit, slots)
                picks = self._within(choose_lanes(self._heads, limit, self._turn, serves, room, self._shares), slots)
                limits = {pick.lane_id: self._limits[pick.lane_id] for pick in picks if pick.lane_id in self._limits}
            if picks:
                yield picks, limits
            else:
                self._heads = []
            if surveyed and self._after < 0:  # the last page of lanes: nothing here for this claim
                return

    def note(self, taken: list[Run], limit: int) -> list[Run]:
        """Count the runs that the last offer gave; they are returned in the order to be worked on."""
        # Until the next claim some of these may have ended: without a survey their lane would get nothing then, and
        # one with more room would take its share.
        used_up = self._limits and self._room.note(taken)
        if len(self._heads) > 1:
            self._shares.note(run.tenant for run in taken)
            taken = interleave(taken, self._shares.weights)
        if used_up or len(taken) < limit or self._claims >= self._claims_per_survey:
            self._heads = []
        return taken

    def _room_of(self, limit: int, slots: int) -> Callable[[Lane], int]:
        """Room of a lane under its limits, by the last reading."""
        return lambda lane: self._room.of(lane.id, slots) if lane.id in self._limits else limit

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

    def _survey(
        self, serves: Callable[[Lane], bool], limits_of: Callable[[Lane], Sequence[Limit]] | None, now: datetime
    ) -> None:
        """Read the next lanes in the order of their ids; from the start again when the end was reached."""
        self._heads = self._store.runs.survey(self._after, HEADS)
        if self._after >= 0 and not self._heads:
            self._heads = self._store.runs.survey(-1, HEADS)
        self._after = -1
        if len(self._heads) >= HEADS:
            self._after = self._heads[-1].lane_id
            self._heads += self._sample.beside(self._heads, now)
        self._claims = 0
        self._surveyed_at = now
        self._tenants.refresh(now)
        self._shares.weights = self._tenants.weights
        self._limits = {}
        if limits_of is not None or self._tenants.limits:
            served = (head for head in self._heads if serves(head.lane))
            self._limits = {head.lane_id: found for head in served if (found := self._limits_on(limits_of, head.lane))}
        if self._limits:
            self._room.read(self._limits, now)
            free_at = self._room.free_at(now)
            if free_at is not None and (self.free_at is None or free_at < self.free_at):
                self.free_at = free_at

    def _limits_on(self, limits_of: Callable[[Lane], Sequence[Limit]] | None, lane: Lane) -> Sequence[Limit]:
        of_tenant = self._tenants.limits.get(lane.tenant)
        of_job = () if limits_of is None else limits_of(lane)
        return of_job if of_tenant is None else (*of_job, of_tenant)
