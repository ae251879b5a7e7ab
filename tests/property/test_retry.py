"""Retry: bounds that hold for every policy and any number of failures."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from workbell.model.retry import Retry

spans = st.floats(0, 3_153_600_000)
policies = st.builds(
    Retry, attempts=st.integers(1, 10**9), delay=spans, factor=st.floats(1, 1000), cap=spans, jitter=st.floats(0, 10)
)
failures = st.integers(1, 10**9)


@given(policies, failures, st.integers())
def test_a_wait_is_between_its_floor_and_the_cap_with_jitter(policy: Retry, count: int, seed: int) -> None:
    """Jitter only ever adds, and nothing overflows, not even after a billion failures."""
    wait = policy.wait(count, Random(seed)).total_seconds()
    tiny = 1e-5  # a timedelta has whole microseconds
    assert min(policy.delay, policy.cap) - tiny <= wait
    assert wait <= policy.cap * (1 + policy.jitter) * (1 + 1e-9) + tiny


@given(policies, st.integers(1, 400))
def test_waits_never_get_shorter(policy: Retry, count: int) -> None:
    steady = Retry(delay=policy.delay, factor=policy.factor, cap=policy.cap, jitter=0)
    assert steady.wait(count, Random(0)) <= steady.wait(count + 1, Random(0))


@given(policies, failures, st.integers())
def test_jitter_adds_to_the_wait_without_it(policy: Retry, count: int, seed: int) -> None:
    steady = Retry(delay=policy.delay, factor=policy.factor, cap=policy.cap, jitter=0)
    bare = steady.wait(count, Random(0))
    assert policy.wait(count, Random(seed)) >= bare - timedelta(microseconds=1)


@given(policies, failures)
def test_the_number_of_attempts_is_the_limit(policy: Retry, count: int) -> None:
    assert policy.allows(count, None) is (count < policy.attempts)
