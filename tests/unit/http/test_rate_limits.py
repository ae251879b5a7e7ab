"""How often somebody may ask: never more than the rate and the burst allow, whenever the requests come."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbell.http.policies.open_limits import HeldBy
from workbell.http.policies.rate_limits import MOST, Allowance, Buckets, CallerRates


@settings(suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of the strategy
@given(st.lists(st.floats(0, 2, allow_nan=False), max_size=60), st.integers(1, 20), st.integers(1, 20))
def test_no_more_than_the_rate_and_the_burst(gaps: list[float], rate: int, burst: int) -> None:
    buckets = Buckets(rate, burst)
    now, taken = 0.0, []
    for gap_number, gap in enumerate(gaps):
        now += gap
        wait = buckets.take("a", now)
        assert wait >= 0
        if not wait:
            taken.append(now)
        else:
            assert not buckets.take(f"b{gap_number}", now)  # somebody else has a bucket of their own
    for place, start in enumerate(taken):
        for end in range(place, len(taken)):
            assert end - place + 1 <= burst + rate * (taken[end] - start) + 1e-6


def test_it_says_when_the_next_is_allowed() -> None:
    buckets = Buckets(rate=2, burst=1)
    assert buckets.take("a", 0) == 0
    wait = buckets.take("a", 0)
    assert wait == 0.5
    assert buckets.take("a", wait) == 0


def test_many_names_do_not_fill_the_memory() -> None:
    buckets = Buckets(rate=0.001, burst=1)
    for number in range(2 * MOST):
        buckets.take(str(number), 0)
    assert len(buckets._levels) <= MOST


def test_a_caller_that_its_tenant_refuses_has_paid_nothing() -> None:
    rates = CallerRates(of_caller=Allowance(0.1, 1), of_tenant=Allowance(1, 1))
    ada, bob = HeldBy("a", "ada"), HeldBy("a", "bob")
    assert rates.take(ada, 0.0) == 0
    assert rates.take(bob, 0.0) == 1, "the tenant's bucket is empty"
    assert rates.take(bob, 1.0) == 0, "and bob still has his own token"
    assert rates.take(bob, 2.0) == 9
