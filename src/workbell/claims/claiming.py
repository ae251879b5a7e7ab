"""Claiming: queued runs under a lease, from the lanes that fairness, priorities, limits and pauses leave.

A survey reads which lanes have queued runs. It serves a few claims, as long as they come back full; then the next one
is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from workbell.claims.fairness import FairShares, TenantSample, interleave
from workbell.claims.lane_choice import choose_lanes
from workbell.claims.limit_room import LimitRoom
from workbell.model.ids import new_lease_token
from workbell.model.limit import Limit, limit_of_tenant
from workbell.model.run import Lane, Run
from workbell.stores.port import Head, LeaseTerms, Pick, Store

HEADS = 500  # lanes that one survey returns
CLAIMS = 5  # served by one survey: a more urgent run, or another tenant's first one, goes unseen for so long
MOST_SEEN = 100  # lanes that are remembered, so that their runs can be taken by their ids
SETTINGS_FRESH = timedelta(seconds=1)
SURE = 2  # claims in a row that took all there was let the next one be a guess; twice as many after a wrong one
MOST_NEEDED = 1000
SURVEY_VALID = 0.5  # seconds that a survey is good for: so long may a pause go unseen


def no_limits(_lane: Lane) -> Sequence[Limit]:
    return ()


class Claimant(NamedTuple):
    """A worker that claims: its name, the length of its leases, which lanes it serves, what limits their runs, and the
    source of its tokens."""

    worker: str
    lease: timedelta
    serves: Callable[[Lane], bool]
    limits: Callable[[Lane], Sequence[Limit]] = no_limits
    draw_token: Callable[[], int] = new_lease_token


class Claims(Protocol):
    """A way to claim: by the fair choice, or chosen runs."""

    @property
    def free_at(self) -> datetime | None:
        """When the earliest run may start that a rate delayed at the last claim; None: no rate delayed one."""

    @property
    def exhausted(self) -> bool:
        """Whether the last claim left nothing to claim, as a survey of its own showed: then hints are a reason for the
        next claim, and the end of a run is not."""

    @property
    def guessed(self) -> bool:
        """Whether the last claim was a guess: the next one makes a survey, but after the runs of this one began."""

    def forget_survey(self, *, lone: bool = False) -> None:
        """Something has changed: the next claim makes a survey of its own. With `lone` it is probably a run that comes
        alone, and the claim may be a guess."""

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        """Up to `limit` runs, each claimed in the store under a lease; in the order to be worked on.

        Of limited jobs no more than `slots`, if given: a claimed run that waits here would block its limit for others.
        """


class FairClaims:
    """Claims of one process, with the lanes that its last survey returned."""

    def __init__(
        self, store: Store, claims_per_survey: int = CLAIMS, fresh: float = SURVEY_VALID, poll: float = 1.0
    ) -> None:
        self._store = store
        self._claims_per_survey = claims_per_survey
        self._fresh = timedelta(seconds=fresh)
        self._claims = 0
        self._heads: list[Head] = []
        self._limits: dict[int, Sequence[Limit]] = {}  # of those of these lanes that have any
        self._room = LimitRoom(store)
        self._shares = FairShares()
        self._tenants = TenantCache(store)
        self._reads_ahead = timedelta(seconds=poll) <= SETTINGS_FRESH  # of tenants: else too old for the next claim
        self._sample = TenantSample(store)
        self._surveyed_at: datetime | None = None
        self._after = -1
        self._turn = 0
        self._seen: dict[int, Lane] = {}  # the last lanes that surveys returned
        self.free_at: datetime | None = None  # when the earliest run may start that a rate delayed at the last claim
        self.exhausted = False
        self.guessed = False
        self._guess = LaneGuess()
        self._lone = False

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        """Up to `limit` runs, each claimed in the store under a lease; in the order to be worked on.

        Of limited jobs no more than `slots`, if given: a claimed run that waits here would block its limit for others.
        Lanes are tried until some give runs, at most once round all of them.
        """
        slots = limit if slots is None else min(slots, limit)
        terms = LeaseTerms(claimant.worker, now, now + claimant.lease, claimant.draw_token())
        surveyed = whole = False
        self.free_at, self.exhausted = None, False
        if self._surveyed_at is not None and abs(now - self._surveyed_at) > self._fresh:
            self._heads = []
        ends: set[int] = set()
        while True:
            if not self._heads:
                if self._lone and self._guess.is_sure:
                    taken = self._take_guess(claimant, limit, terms)
                    if taken:
                        return taken
                whole = self._after < 0  # else it begins with a later page of the lanes
                self._survey(claimant, now)
                surveyed = True
                if self._after in ends:  # all the way round: where every page is full, there is no last one
                    self._heads = []
                    return []
                ends.add(self._after)
            self._claims += 1
            self._turn += 1
            room, limits = self._room_of(limit, slots) if self._limits else None, None
            picks = choose_lanes(self._heads, limit, self._turn, claimant.serves, room, self._shares)
            if self._limits:
                picks = self._within(picks, slots)
                limits = {pick.lane_id: self._limits[pick.lane_id] for pick in picks if pick.lane_id in self._limits}
            taken = self._store.runs.claim(picks, limit, terms, limits=limits) if picks else []
            if surveyed:
                self._judge(picks, taken, now, whole=whole and self._after < 0)
            if taken:
                return self._note(taken, limit)
            self._heads = []
            if surveyed and self._after < 0:  # the last page of lanes: nothing here for this claim
                return []

    def forget_survey(self, *, lone: bool = False) -> None:
        self._heads = []
        self._lone = lone

    def _judge(self, picks: Sequence[Pick], taken: Sequence[Run], now: datetime, *, whole: bool) -> None:
        """Note what the survey of this very claim, and the claim, have shown; `whole`: it was of all lanes."""
        if not whole or self._limits:
            self._guess.miss()
            return
        is_one = len(self._heads) == len(picks) == 1
        self.exhausted = not taken or (is_one and len(taken) < picks[0].quota)
        if taken and self.exhausted:
            self._guess.hit(self._heads[0], now)
        elif self._heads:  # it has more than that, or others have runs too
            self._guess.miss()

    def _take_guess(self, claimant: Claimant, limit: int, terms: LeaseTerms) -> list[Run]:
        """Claim from the lane that has had all the runs lately: a run that comes alone starts without a survey.

        Half of the slots are left to what a survey shows, which follows soon. Pauses and limits that came since are
        seen by the claim that surveys first, at least as often as a survey would be made anew.
        """
        head, seen_at = self._guess.head, self._guess.seen_at
        if self.guessed or limit < 2 or head is None or seen_at is None or abs(terms.now - seen_at) > self._fresh:
            return []
        if not claimant.serves(head.lane):
            return []
        if claimant.limits(head.lane) or head.lane.tenant in self._tenants.limits:
            return []
        taken = self._store.runs.claim([Pick(head.lane_id, head.rank, limit // 2, head.since)], limit // 2, terms)
        self.guessed = bool(taken)
        if not taken:  # others are quicker, or hints come that are for nothing
            self._guess.err()
        return taken

    def take(self, claimant: Claimant, ids: Sequence[str], now: datetime) -> list[Run]:
        """Claim these runs, without a choice: for a worker that has more slots free than there are ids.

        Those of lanes that are new here, or that have limits, are left to `claim`.
        """
        self._tenants.refresh(now)
        lanes = [
            lane_id
            for lane_id, lane in self._seen.items()
            if claimant.serves(lane) and not claimant.limits(lane) and lane.tenant not in self._tenants.limits
        ]
        if not lanes:
            return []
        terms = LeaseTerms(claimant.worker, now, now + claimant.lease, claimant.draw_token())
        return self._store.runs.take(ids, terms, lanes=lanes)

    def _note(self, taken: list[Run], limit: int) -> list[Run]:
        """Count the runs that a claim gave; they are returned in the order to be worked on."""
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

    def _survey(self, claimant: Claimant, now: datetime) -> None:
        """Read the next lanes in the order of their ids; from the start again when the end was reached."""
        self._heads = self._store.runs.survey(self._after, HEADS)
        if self._after >= 0 and not self._heads:
            self._heads = self._store.runs.survey(-1, HEADS)
        self._after = -1
        if len(self._heads) >= HEADS:
            self._after = self._heads[-1].lane_id
            self._heads += self._sample.beside(self._heads, now)
        for head in self._heads[-MOST_SEEN:]:
            self._seen.pop(head.lane_id, None)
            self._seen[head.lane_id] = head.lane
        while len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._claims = 0
        self.guessed = self._lone = False
        self._surveyed_at = now
        if self._heads or self._reads_ahead:
            self._tenants.refresh(now)
        self._shares.weights = self._tenants.weights
        self._limits = {}
        if claimant.limits is not no_limits or self._tenants.limits:
            for head in self._heads:
                if claimant.serves(head.lane):
                    of_job, of_tenant = claimant.limits(head.lane), self._tenants.limits.get(head.lane.tenant)
                    found = of_job if of_tenant is None else (*of_job, of_tenant)
                    if found:
                        self._limits[head.lane_id] = found
        if self._limits:
            self._room.read(self._limits, now)
            free_at = self._room.free_at(now)
            if free_at is not None and (self.free_at is None or free_at < self.free_at):
                self.free_at = free_at


class LaneGuess:
    """The one lane that has had runs lately, and whether the next run may be expected there without a survey."""

    def __init__(self) -> None:
        self.head: Head | None = None
        self.seen_at: datetime | None = None  # when a survey last showed that
        self.is_sure = False
        self._streak = 0  # claims that took all there was, one after the other
        self._needed = SURE  # for a guess

    def hit(self, head: Head, now: datetime) -> None:
        """A survey showed this lane alone, and a claim took all its runs."""
        self.head, self.seen_at, self._streak = head, now, self._streak + 1
        self.is_sure = self._streak >= self._needed

    def miss(self) -> None:
        """A survey showed more than that."""
        self.head, self.is_sure, self._streak = None, False, 0

    def err(self) -> None:
        """A guess was wrong: guess more rarely."""
        self.is_sure, self._streak, self._needed = False, 0, min(2 * self._needed, MOST_NEEDED)


class TenantCache:
    """The weights that are not 1, and the limits of the tenants that have any: read again every second, so that a claim
    costs no read for them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read_at: datetime | None = None
        self.weights: Mapping[str, int] = {}
        self.limits: Mapping[str, Limit] = {}

    def refresh(self, now: datetime) -> None:
        """Read them, unless that was less than a second ago."""
        if self._read_at is not None and abs(now - self._read_at) < SETTINGS_FRESH:
            return
        self._read_at = now
        tenants = self._store.tenants.list()
        self.weights = {tenant.name: tenant.weight for tenant in tenants if tenant.weight != 1}
        found = ((one.name, limit_of_tenant(one.name, one.concurrency, one.rate)) for one in tenants)
        self.limits = {name: limit for name, limit in found if limit is not None}
