"""Retry policies on the wire: what is shown is what is stored, and a schedule takes either of two kinds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.retry_policies import POLICIES
from workbell.model.retry import Retry, policy_of
from workbell.wire.retry import RetryBody, RetryShown, ScheduleRetryBody

names = st.lists(st.sampled_from(["ValueError", "shop.Declined"]), max_size=2, unique=True).map(tuple)
policies = st.builds(
    Retry,
    attempts=st.integers(1, 2_000_000),
    delay=st.floats(0, 1e6),
    factor=st.floats(1, 1000),
    cap=st.floats(0, 1e6),
    jitter=st.floats(0, 10),
    give_up_on=names,
    only_on=names,
)


@given(policies)
def test_what_is_shown_is_what_is_stored(retry: Retry) -> None:
    shown = RetryShown.of(retry)
    sent = msgspec.json.encode(shown)
    assert msgspec.json.decode(sent).keys() == set(Retry.__struct_fields__)
    assert msgspec.json.decode(sent, type=RetryShown).value() == retry


@given(policies.filter(lambda retry: retry.attempts <= 1_000_000))
def test_what_is_shown_can_be_put_again(retry: Retry) -> None:
    sent = msgspec.json.encode(RetryShown.of(retry))
    assert msgspec.json.decode(sent, type=RetryBody).policy() == retry
    assert msgspec.json.decode(sent, type=ScheduleRetryBody).policy() == retry


def read(body: dict[str, Any]) -> Retry:
    return msgspec.convert(body, ScheduleRetryBody).policy()


def test_fields_that_are_left_out_have_their_defaults() -> None:
    assert read({"attempts": 5}) == Retry(attempts=5)
    assert read({"delay": 5}) == Retry(delay=5)
    assert [read(policy) for policy, _ in POLICIES] == [meant for _, meant in POLICIES]
    words = policy_of(read({"max_retries": 2, "backoff_ms": 500, "backoff_type": "exponential"}))
    assert msgspec.to_builtins(words) == {"max_retries": 2, "backoff_ms": 500, "backoff_type": "exponential"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"max_retries": 2, "attempts": 3}, "max_retries and attempts belong to two kinds of policies"),
        ({"max_retries": 2, "jitter": 0.1}, "max_retries and jitter belong to two kinds"),
        ({"backoff_ms": 500, "attempts": 3}, "backoff_ms and attempts belong to two kinds"),
        ({"max_retries": -1}, ">= 0"),
        ({"attempts": 0}, ">= 1"),
        ({"backoff_type": "random", "max_retries": 1}, "fixed|exponential"),
        ({"retries": 1}, "unknown field `retries`"),
    ],
)
def test_what_is_refused(body: dict[str, Any], why: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        read(body)
    assert why in str(raised.value)
