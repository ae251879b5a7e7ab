"""Fair claims on all three stores: what is handed out, to whom, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import pytest

from workbell import Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.claims.fairness import SAMPLED_TENANTS, TenantSample
from workbell.engine.consume import serves
from workbell.model import state
from workbell.model.ids import MOST_TOKEN
from workbell.model.limit import Limit, Limits, limits_on
from workbell.model.run import Lane, NewRun, Run, Status
from workbell.stores.port import Store
from workbell.testing.contracts.making import KEEP, after, find, ids, request

SOON = 12  # claims within which something new must be seen though there is a backlog
LANES = 520  # more than are looked at in one go


def everything(_lane: Lane) -> bool:
    return True


def claimant(serves: Callable[[Lane], bool] = everything, worker: str = "worker") -> Claimant:
    return Claimant(worker, timedelta(seconds=30), serves)


def put(store: Store, *requests: NewRun) -> list[str]:
    return [answer.id for answer in store.runs.add(requests)]


def claim_until_idle(
    claims: FairClaims, limit: int, serves: Callable[[Lane], bool] = everything, idle: int = 3
) -> list[Run]:
    """Claim again and again; where there are many lanes, one may look at some of them and find nothing."""
    every: list[Run] = []
    empty = 0
    while empty < idle:
        runs = claims.claim(claimant(serves), limit, after(0))
        empty = 0 if runs else empty + 1
        every += runs
    return every


def claim_all(claims: FairClaims, who: Claimant, now: datetime, slots: int | None = None, limit: int = 10) -> list[Run]:
    every: list[Run] = []
    while runs := claims.claim(who, limit, now, slots):
        every += runs
    return every


def only(job: str, limits: Limits) -> Callable[[Lane], Sequence[Limit]]:
    """Limits of one job."""
    return lambda lane: limits_on(limits, lane) if lane.job == job else ()


class TestFairClaims:
    @pytest.fixture
    def claims(self, store: Store) -> FairClaims:
        return FairClaims(store)

    def test_an_empty_store_gives_nothing(self, claims: FairClaims) -> None:
        assert claims.claim(claimant(), 10, after(0)) == []

    def test_a_run_is_claimed_in_the_store_under_a_lease(self, store: Store, claims: FairClaims) -> None:
        """D6, D7: the store is the truth."""
        put(store, request())
        (run,) = claims.claim(claimant(worker="w9")._replace(draw_token=lambda: MOST_TOKEN), 10, after(5))
        assert (run.status, run.worker, run.token) == (Status.RUNNING, "w9", MOST_TOKEN)
        assert run.lease_until == after(35)
        assert find(store, run) == run
        assert claims.claim(claimant(), 10, after(5)) == []

    def test_no_more_than_asked_for(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request(queue=f"q{n % 3}", tenant=f"t{n % 2}") for n in range(20)])
        sizes = []
        while runs := claims.claim(claimant(), 7, after(0)):
            sizes.append(len(runs))
        assert sum(sizes) == 20
        assert max(sizes) <= 7

    def test_only_lanes_the_claimant_serves(self, store: Store, claims: FairClaims) -> None:
        """D11: an unknown handler's run waits, and nothing is spent."""
        known = put(store, request("known"), request("known", queue="mail"))
        unknown = put(store, request("unknown"), request("known", target="machine"))
        bell = Workbell(store=store)
        bell.job(name="known")(lambda: None)
        runs = claim_until_idle(claims, 10, serves(bell.registry, None))
        assert sorted(ids(runs)) == sorted(known)
        assert [(find(store, run).status, find(store, run).attempt) for run in unknown] == [(Status.QUEUED, 0)] * 2

    def test_a_claim_is_in_the_order_to_be_worked_on(self, store: Store, claims: FairClaims) -> None:
        late, early, same = request(at=3), request(at=1), request(at=1)
        put(store, late, early, same)
        assert ids(claims.claim(claimant(), 10, after(5))) == [early.run.id, same.run.id, late.run.id]

    def test_priority_is_strict_within_a_tenant(self, store: Store, claims: FairClaims) -> None:
        made = [request(priority=n % 5, queue=f"q{n % 2}") for n in range(40)]
        put(store, *made)
        taken = claim_until_idle(claims, 4)
        assert len(taken) == 40
        assert [run.priority for run in taken] == sorted((run.priority for run in taken), reverse=True)

    def test_an_urgent_run_does_not_wait_for_the_backlog(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request() for _ in range(100)])
        assert len(claims.claim(claimant(), 2, after(0))) == 2
        (urgent,) = put(store, request(priority=9))
        taken = [run.id for _ in range(SOON) for run in claims.claim(claimant(), 2, after(0))]
        assert urgent in taken

    def test_tenants_share_evenly(self, store: Store, claims: FairClaims) -> None:
        """E6: one tenant's backlog does not starve another."""
        put(store, *[request(tenant="big", priority=9) for _ in range(60)])
        put(store, *[request(tenant="small") for _ in range(6)])
        first = Counter(run.tenant for run in claims.claim(claimant(), 12, after(0)))
        assert first["small"] >= 4
        assert first["big"] >= 4

    def test_tenants_take_turns_at_single_runs(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request(tenant=f"t{n % 3}") for n in range(30)])
        taken = Counter(run.tenant for _ in range(9) for run in claims.claim(claimant(), 1, after(0)))
        assert taken == {"t0": 3, "t1": 3, "t2": 3}

    def test_a_tenant_that_comes_late_gets_its_turn(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request(tenant="big") for _ in range(100)])
        claims.claim(claimant(), 2, after(0))
        (late,) = put(store, request(tenant="late"))
        taken = [run.id for _ in range(SOON) for run in claims.claim(claimant(), 2, after(0))]
        assert late in taken

    def test_lanes_of_a_tenant_share_too(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request(queue="a") for _ in range(40)], *[request(queue="b") for _ in range(4)])
        assert Counter(run.queue for run in claims.claim(claimant(), 8, after(0))) == {"a": 4, "b": 4}

    def test_any_number_of_lanes_is_reached(self, store: Store, claims: FairClaims) -> None:
        made = put(store, *[request(queue=f"q{n}") for n in range(LANES)])
        assert sorted(ids(claim_until_idle(claims, 50))) == sorted(made)

    def test_lanes_that_are_not_served_do_not_hide_others(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request("unknown", queue=f"q{n}") for n in range(LANES)])
        wanted = put(store, *[request("known", queue=f"q{n}") for n in range(5)])
        assert sorted(ids(claim_until_idle(claims, 50, lambda lane: lane.job == "known"))) == sorted(wanted)

    def test_a_whole_page_of_lanes_with_nothing_to_claim_has_an_end(self, store: Store, claims: FairClaims) -> None:
        """However many lanes are looked at in one go: also if it is exactly as many as there are."""
        put(store, *(request(queue=f"queue {number}") for number in range(500)))
        assert claims.claim(claimant(lambda _lane: False), 10, after(0)) == []

    def test_a_limit_is_kept_and_its_place_given_again(self, store: Store, claims: FairClaims) -> None:
        made = put(store, *[request() for _ in range(5)], *[request("free") for _ in range(5)])
        limited = claimant()._replace(limits=only("work", Limits(concurrency=2)))
        first = claim_all(claims, limited, after(0))
        assert Counter(run.job for run in first) == {"work": 2, "free": 5}
        store.runs.apply([state.release(next(run for run in first if run.job == "work"), after(1))])
        second = claim_all(claims, limited, after(2))
        assert [run.job for run in second] == ["work"]
        assert {run.id for run in (*first, *second)} < set(made)

    def test_a_used_up_limit_is_read_again(self, store: Store, claims: FairClaims) -> None:
        """Its run may have ended since the survey: a lane with more room would else take the turn of an urgent one."""
        urgent = put(store, request(priority=9), request(priority=9))
        put(store, *[request("free") for _ in range(5)])
        limited = claimant()._replace(limits=only("work", Limits(concurrency=1)))
        taken = []
        for second in range(2):
            (run,) = claims.claim(limited, 1, after(second / 10))
            taken.append(run.id)
            store.runs.apply([state.succeed(run, after(second / 10), result=None, keep=KEEP.succeeded)])
        assert taken == urgent

    def test_of_limited_runs_no_more_than_there_are_slots(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request(lane_key=str(n)) for n in range(9)], *[request("free") for _ in range(9)])
        limited = claimant()._replace(limits=only("work", Limits(concurrency=1, concurrency_key="k")))
        found = claims.claim(limited, 12, after(0), 2)
        assert Counter(run.job for run in found)["work"] == 2
        assert Counter(run.job for run in claim_all(claims, limited, after(0), 0)).get("work") is None

    def test_keys_at_their_limit_do_not_hide_others(self, store: Store, claims: FairClaims) -> None:
        """Any number of them, and none of their share is lost."""
        limited = claimant()._replace(limits=only("work", Limits(concurrency=1, concurrency_key="k")))
        put(store, *[request(lane_key=str(n), queue=f"q{n}") for n in range(LANES)])
        assert len(claim_all(claims, limited, after(0), limit=LANES)) == LANES
        put(store, *[request(lane_key=str(n), queue=f"q{n}") for n in range(LANES)])
        wanted = put(store, *[request(lane_key=f"new{n}") for n in range(7)])
        assert sorted(ids(claim_all(claims, limited, after(0)))) == sorted(wanted)

    def test_it_is_known_when_a_rate_lets_the_next_start(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request() for _ in range(5)])
        limited = claimant()._replace(limits=only("work", Limits(rate="2/m")))
        assert len(claim_all(claims, limited, after(0))) == 2
        assert claims.free_at == after(60)
        assert claims.claim(limited, 10, after(59)) == []
        assert claims.free_at == after(60)
        assert len(claim_all(claims, limited, after(60))) == 2
        assert claims.claim(claimant(), 10, after(61)) != []
        assert claims.free_at is None

    def test_expired_runs_are_not_handed_out(self, store: Store, claims: FairClaims) -> None:
        put(store, request(expires_at=after(10)))
        assert claims.claim(claimant(), 10, after(11)) == []


class TestPausesAndTenants:
    """On stores that keep them."""

    @pytest.fixture
    def store_url(self, sql_store_url: str) -> str:
        return sql_store_url

    @pytest.fixture
    def claims(self, store: Store) -> FairClaims:
        return FairClaims(store)

    def test_paused_lanes_do_not_hide_others(self, store: Store, claims: FairClaims) -> None:
        put(store, *[request("paused", queue=f"q{n}") for n in range(LANES)])
        store.pauses.add("default", None, "paused", after(0))
        wanted = put(store, *[request("known", queue=f"q{n}") for n in range(5)])
        assert sorted(ids(claim_until_idle(claims, 50))) == sorted(wanted)

    def test_samples_of_many_tenants_go_round(self, store: Store) -> None:
        """More tenants than are asked for in one go: each is seen after a few seconds."""
        tenants = {f"t{number:03}" for number in range(SAMPLED_TENANTS + 10)}
        put(store, *[request(tenant=tenant) for tenant in tenants])
        sample = TenantSample(store)
        first = {head.lane.tenant for head in sample.beside([], after(0))}
        assert len(first) == SAMPLED_TENANTS
        assert {head.lane.tenant for head in sample.beside([], after(0.5))} == first
        assert {head.lane.tenant for head in sample.beside([], after(1))} == tenants

    def test_a_pause_is_seen_soon(self, store: Store, claims: FairClaims) -> None:
        """Also though what was seen is kept for a while."""
        put(store, *[request() for _ in range(50)])
        assert len(claims.claim(claimant(), 2, after(0))) == 2
        store.pauses.add("default", "default", None, after(0))
        assert claims.claim(claimant(), 2, after(1)) == []
