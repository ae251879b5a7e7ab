"""Choosing lanes for a claim: fair between tenants, strict within one, for any heads."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from workbell.claims.fairness import FairShares
from workbell.claims.lane_choice import choose_lanes
from workbell.model.run import Lane
from workbell.stores.port import Head, Pick

lanes = st.builds(Lane, st.sampled_from("abcde"), st.just("default"), st.sampled_from([f"job{n}" for n in range(8)]))
all_heads = st.lists(
    st.builds(lambda lane, rank: Head(lane.id, rank, lane), lanes, st.integers(-3, 3)),
    max_size=40,
    unique_by=lambda head: (head.lane_id, head.rank),
)
limits = st.integers(1, 100)
turns = st.integers(0, 1000)


def serves(lane: Lane) -> bool:
    return lane.job != "job0"


def shares(picks: list[Pick], heads: list[Head]) -> Counter[str]:
    tenant_of = {head.lane_id: head.lane.tenant for head in heads}
    found: Counter[str] = Counter()
    for pick in picks:
        found[tenant_of[pick.lane_id]] += pick.quota
    return found


@given(all_heads, limits, turns)
def test_tenants_have_equal_shares_that_use_up_the_limit(heads: list[Head], limit: int, turn: int) -> None:
    picks = choose_lanes(heads, limit, turn, serves)
    tenants = {head.lane.tenant for head in heads if serves(head.lane)}
    found = shares(picks, heads)
    assert set(found) == tenants
    if tenants:
        assert max(found.values()) - min(found.values()) <= 1
        assert sum(found.values()) == max(limit, len(tenants))


@given(all_heads, limits, turns)
def test_only_the_best_rank_of_each_tenant_and_only_what_is_served(heads: list[Head], limit: int, turn: int) -> None:
    by_place = {(head.lane_id, head.rank): head for head in heads}
    picks = choose_lanes(heads, limit, turn, serves)
    assert len({(pick.lane_id, pick.rank) for pick in picks}) == len(picks)
    for pick in picks:
        chosen = by_place[pick.lane_id, pick.rank]
        assert serves(chosen.lane)
        rivals = [head for head in heads if head.lane.tenant == chosen.lane.tenant and serves(head.lane)]
        assert chosen.rank == min(rival.rank for rival in rivals)
        assert pick.quota >= 1


@given(all_heads, limits, turns)
def test_lanes_of_a_tenant_share_equally(heads: list[Head], limit: int, turn: int) -> None:
    tenant_of = {head.lane_id: head.lane.tenant for head in heads}
    quotas: dict[str, list[int]] = {}
    for pick in choose_lanes(heads, limit, turn, serves):
        quotas.setdefault(tenant_of[pick.lane_id], []).append(pick.quota)
    assert all(max(each) - min(each) <= 1 for each in quotas.values())


@given(all_heads, turns)
def test_whose_turn_is_first_goes_round(heads: list[Head], turn: int) -> None:
    tenant_of = {head.lane_id: head.lane.tenant for head in heads}
    tenants = {head.lane.tenant for head in heads if serves(head.lane)}
    first = [choose_lanes(heads, 1, turn + step, serves)[:1] for step in range(len(tenants))]
    assert {tenant_of[pick.lane_id] for picks in first for pick in picks} == tenants


@given(all_heads, limits, turns)
def test_every_lane_of_the_best_rank_comes_up_sooner_or_later(heads: list[Head], limit: int, turn: int) -> None:
    usable = [head for head in heads if serves(head.lane)]
    tenants = {head.lane.tenant for head in usable}
    best = {tenant: min(h.rank for h in usable if h.lane.tenant == tenant) for tenant in tenants}
    expected = {head.lane_id for head in usable if head.rank == best[head.lane.tenant]}
    rounds = len(tenants) * max(len(expected), 1)
    seen = {pick.lane_id for step in range(rounds) for pick in choose_lanes(heads, limit, turn + step, serves)}
    assert seen == expected


@given(all_heads, limits, turns, st.data())
def test_no_lane_gets_more_than_its_room_and_nothing_is_given_to_nobody(
    heads: list[Head], limit: int, turn: int, data: st.DataObject
) -> None:
    rooms = {head.lane_id: data.draw(st.integers(0, 5)) for head in heads}
    picks = choose_lanes(heads, limit, turn, serves, lambda lane: rooms[lane.id])
    usable = [head for head in heads if serves(head.lane) and rooms[head.lane_id]]
    assert all(0 < pick.quota <= rooms[pick.lane_id] for pick in picks)
    tenants = {head.lane.tenant for head in usable}
    found = shares(picks, heads)
    assert set(found) == tenants
    for tenant in tenants:
        ours = [head for head in usable if head.lane.tenant == tenant]
        best = [head for head in ours if head.rank == min(other.rank for other in ours)]
        # As much of its share as the lanes that it can name have room for.
        share = limit // len(tenants)
        least = max(1, min(share, sum(sorted(rooms[head.lane_id] for head in best)[:share])))
        assert least <= found[tenant] <= max(limit, 1)


weights = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9))


@given(weights, st.integers(1, 30), st.lists(turns, min_size=40, max_size=40))
def test_starts_follow_the_weights(of: dict[str, int], limit: int, order: list[int]) -> None:
    """E6: with work for all, each tenant has had its part at any time, to within one claim."""
    heads = [Head(place, 0, Lane(tenant, "default", "job1")) for place, tenant in enumerate("abcde")]
    shared = FairShares()
    shared.weights = of
    total: Counter[str] = Counter()
    for turn in order:
        taken = shares(choose_lanes(heads, limit, turn, serves, shares=shared)[:limit], heads)
        started = list(Counter(dict(taken)).elements())[:limit]
        shared.note(started)
        total.update(started)
    every = sum(of.get(tenant, 1) for tenant in "abcde")
    for tenant in "abcde":
        assert abs(total[tenant] - limit * len(order) * of.get(tenant, 1) / every) <= 5 + limit / 4


@given(st.integers(1, 50), st.integers(1, 200), turns)
def test_who_was_away_has_saved_nothing_up(limit: int, rounds: int, turn: int) -> None:
    shared = FairShares()
    for _ in range(rounds):
        shared.note(["a"] * shared.divide(limit, {"a": limit}, turn)["a"])
    shared.divide(1, {"a": 1, "b": 1}, turn)
    given_now = shared.divide(100, {"a": 100, "b": 100}, turn)
    assert abs(given_now["a"] - given_now["b"]) <= 1
