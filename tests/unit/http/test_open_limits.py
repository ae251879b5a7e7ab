"""Limits of what callers hold open: who is refused at which number, and what the refusal says."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell import TooMany
from workbell.http.policies import open_limits
from workbell.http.policies.open_limits import (
    POLLS,
    STREAMS,
    VIEWS,
    WAITS,
    HeldBy,
    OpenCount,
    OpenCounts,
    OpenLimit,
    refusal,
    socket_limit,
)
from workbell.http.policies.rate_limits import Allowance, CallerRates
from workbell.model.access import Access

LIMIT = OpenLimit("things", 2, 3, 5, "close one")
ADA, BOB, EVE = HeldBy("a", "ada"), HeldBy("a", "bob"), HeldBy("b", "eve")


@pytest.mark.parametrize("limit", [STREAMS, WAITS, POLLS, VIEWS, socket_limit(10_000, 20), socket_limit(10, 2)])
def test_one_tenant_cannot_have_all(limit: OpenLimit) -> None:
    assert limit.of_caller <= limit.of_tenant < limit.in_all


def test_a_refusal_says_who_has_how_many_and_what_to_do() -> None:
    assert refusal(LIMIT, ADA, 1, 2, 4) is None
    assert refusal(LIMIT, ADA, 2, 2, 2) == "you have 2 things open, as many as one caller may; close one"
    of_tenant = refusal(LIMIT, ADA, 1, 3, 3)
    assert of_tenant is not None
    assert "tenant a has 3 things open, as many as one tenant may; close one" in of_tenant
    assert refusal(LIMIT, ADA, 0, 0, 5) == "there are 5 things open on this server; try again later"


def test_what_is_given_back_is_free_again() -> None:
    count = OpenCounts().streams
    with count.one_more(LIMIT, ADA), count.one_more(LIMIT, ADA), count.one_more(LIMIT, BOB):
        for who in (ADA, BOB):
            with pytest.raises(TooMany) as refused, count.one_more(LIMIT, who):
                pass
            assert refused.value.retry_after == open_limits.AGAIN
        with count.one_more(LIMIT, EVE):
            assert len(count) == 4
    assert len(count) == 0
    with count.one_more(LIMIT, ADA):
        pass


@given(st.lists(st.tuples(st.sampled_from([ADA, BOB, EVE]), st.booleans()), max_size=40))
def test_no_limit_is_ever_passed(steps: list[tuple[HeldBy, bool]]) -> None:
    count, held = OpenCount(Counter()), Counter[HeldBy]()
    for who, opens in steps:
        if not opens:
            if held[who]:
                held[who] -= 1
                count.give_back(who)
            continue
        tenant = sum(number for one, number in held.items() if one.tenant == who.tenant)
        fits = held[who] < LIMIT.of_caller and tenant < LIMIT.of_tenant and held.total() < LIMIT.in_all
        assert (count.refusal(LIMIT, who) is None) == fits
        if fits:
            count.take(LIMIT, who)
            held[who] += 1
    assert len(count) == held.total()


def test_a_tenant_holds_no_more_than_its_share_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they are for: the others must reach the server."""
    monkeypatch.setattr(open_limits, "most_connections", lambda: 4)
    opened = OpenCounts()
    opened.sockets.take(socket_limit(100, 10), ADA)
    opened.streams.take(STREAMS, ADA)
    opened.waits.take(WAITS, BOB)
    with pytest.raises(TooMany, match="Tenant a holds 3 connections open"):
        opened.waits.take(WAITS, ADA)
    opened.waits.take(WAITS, EVE)
    opened.streams.give_back(ADA)
    opened.waits.take(WAITS, ADA)


def test_people_are_counted_one_by_one() -> None:
    """Those of printed URLs are all user 0: they are told apart by their sessions."""
    first, second = (HeldBy.caller("a", Access(user_id=0, token=token)) for token in ("s1", "s2"))
    assert first != second
    assert HeldBy.caller("a", Access(user_id=7, token="s1")) == HeldBy.caller("a", Access(user_id=7, token="s2"))
    assert HeldBy.caller("a", Access(actor="ada")) != HeldBy.caller("a", Access(actor="bob"))


def test_rates_of_a_caller_and_of_its_tenant() -> None:
    rates = CallerRates(Allowance(1, 2), Allowance(1, 3))
    assert [rates.take(ADA, 0.0) for _ in range(2)] == [0, 0]
    assert rates.take(ADA, 0.0) == pytest.approx(1)
    assert rates.take(BOB, 0.0) == 0
    assert rates.take(BOB, 0.0) == pytest.approx(1), "the tenant has had its three"
    assert rates.take(EVE, 0.0) == 0
    assert rates.take(ADA, 1.0) == 0
