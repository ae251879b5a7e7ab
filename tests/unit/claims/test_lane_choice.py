"""Choosing lanes for a claim: by example. What holds for all inputs is in tests/property/test_lane_choice.py."""

from __future__ import annotations

from collections import Counter

from workbell.claims.lane_choice import choose_lanes
from workbell.model.run import Lane
from workbell.stores.port import Head, Pick


def head(number: int, tenant: str = "a", rank: int = 0, job: str = "send") -> Head:
    return Head(number, rank, Lane(tenant, "default", job))


def serves_all(lane: Lane) -> bool:
    return True


def test_nothing_to_choose() -> None:
    assert choose_lanes([], 10, 0, serves_all) == []
    assert choose_lanes([head(1)], 0, 0, serves_all) == []
    assert choose_lanes([head(1)], 10, 0, lambda lane: False) == []


def test_one_lane_gets_everything() -> None:
    assert choose_lanes([head(1)], 10, 7, serves_all) == [Pick(1, 0, 10)]


def test_one_lane_gets_no_more_than_its_room() -> None:
    assert choose_lanes([head(1)], 10, 7, serves_all, lambda lane: 4) == [Pick(1, 0, 4)]
    assert choose_lanes([head(1)], 10, 7, serves_all, lambda lane: 40) == [Pick(1, 0, 10)]
    assert choose_lanes([head(1)], 10, 7, serves_all, lambda lane: 0) == []


def test_a_lane_that_is_not_served_is_not_chosen() -> None:
    heads = [head(1, job="known"), head(2, job="unknown")]
    assert choose_lanes(heads, 10, 0, lambda lane: lane.job == "known") == [Pick(1, 0, 10)]


def test_only_the_best_priority_of_a_tenant_is_taken() -> None:
    heads = [head(1, rank=5), head(2, rank=-5), head(3, rank=-5), head(4, "b", rank=100)]
    chosen = choose_lanes(heads, 8, 0, serves_all)
    assert {pick.lane_id for pick in chosen} == {2, 3, 4}
    assert {pick.lane_id: pick.quota for pick in chosen} == {2: 2, 3: 2, 4: 4}


def test_a_tenant_with_many_lanes_gets_no_more_than_one_with_few() -> None:
    heads = [head(number) for number in range(1, 101)] + [head(500, "b")]
    for turn in range(7):
        chosen = choose_lanes(heads, 10, turn, serves_all)
        assert sum(pick.quota for pick in chosen if pick.lane_id != 500) == 5
        assert sum(pick.quota for pick in chosen if pick.lane_id == 500) == 5


def test_with_a_single_free_slot_every_lane_has_its_turn() -> None:
    """Tenants and lanes go round independently; else one lane of each tenant would never come first."""
    heads = [head(1, "a"), head(2, "a"), head(3, "b"), head(4, "b")]
    first = Counter(choose_lanes(heads, 1, turn, serves_all)[0].lane_id for turn in range(40))
    assert first == {1: 10, 2: 10, 3: 10, 4: 10}
