"""Retry: when a failed run is tried again, and which errors end it at once."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from workbell.errors import InvalidOption
from workbell.model.retry import Retry, error_name

STILL = Random(0)


class Broken(ValueError):
    pass


def waits(policy: Retry, count: int) -> list[float]:
    return [policy.wait(failures, STILL).total_seconds() for failures in range(1, count + 1)]


def test_delays_grow_by_the_factor_up_to_the_cap() -> None:
    """C6: delay = min(initial × multiplier^(attempt−1), cap)."""
    assert waits(Retry(delay=1, factor=2, cap=60, jitter=0), 8) == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_fixed_delay_stays_fixed_however_often_it_failed() -> None:
    """A6: three attempts, five seconds apart; and the thousandth is no different."""
    policy = Retry(attempts=10_000, delay=5, factor=1, jitter=0)
    assert {policy.wait(failures, STILL).total_seconds() for failures in (1, 2, 257, 5000)} == {5}


def test_no_delay_stays_no_delay() -> None:
    assert Retry(delay=0, jitter=10).wait(10_000, STILL) == timedelta(0)


def test_a_delay_above_the_cap_is_capped() -> None:
    assert waits(Retry(delay=100, cap=60, jitter=0), 1) == [60]


def test_spans_may_be_timedeltas() -> None:
    policy = Retry(delay=timedelta(seconds=2), cap=timedelta(minutes=1), jitter=0)  # type: ignore[arg-type]
    assert waits(policy, 2) == [2, 4]
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Retry) == policy


def test_as_many_attempts_as_allowed_and_no_more() -> None:
    policy = Retry(attempts=3)
    assert [policy.allows(failures, ValueError()) for failures in (1, 2, 3, 4)] == [True, True, False, False]
    assert not Retry(attempts=1).allows(1, None)


@pytest.mark.parametrize(
    ("rules", "error", "allowed"),
    [
        ({"give_up_on": ValueError}, ValueError(), False),
        ({"give_up_on": ValueError}, Broken(), False),
        ({"give_up_on": (KeyError, "ValueError")}, Broken(), False),
        ({"give_up_on": error_name(Broken)}, Broken(), False),
        ({"give_up_on": Broken}, ValueError(), True),
        ({"give_up_on": "Broken"}, Broken(), True),  # a class of one's own is named with its module
        ({"only_on": OSError}, TimeoutError(), True),
        ({"only_on": OSError}, ValueError(), False),
        ({"only_on": (OSError, ValueError), "give_up_on": TimeoutError}, TimeoutError(), False),
        ({"only_on": OSError}, None, True),
        ({}, KeyboardInterrupt(), True),
    ],
)
def test_error_rules_match_subclasses_and_dotted_names(
    rules: dict[str, Any], error: BaseException | None, allowed: bool
) -> None:
    assert Retry(**rules).allows(1, error) is allowed


def test_error_rules_survive_storage() -> None:
    policy = Retry(give_up_on=(Broken, "httpx.TimeoutException"))  # type: ignore[arg-type]
    stored = msgspec.json.decode(msgspec.json.encode(policy), type=Retry)
    assert stored == policy
    assert not stored.allows(1, Broken())


@pytest.mark.parametrize(
    "bad",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": True},
        {"attempts": 1.5},
        {"attempts": "3"},
        {"delay": -1},
        {"delay": float("nan")},
        {"delay": float("inf")},
        {"delay": "1"},
        {"cap": -0.1},
        {"cap": float("nan")},
        {"factor": 0.5},
        {"factor": 1001},
        {"factor": float("nan")},
        {"factor": True},
        {"factor": None},
        {"jitter": -0.1},
        {"jitter": 11},
        {"jitter": float("inf")},
        {"give_up_on": 5},
        {"give_up_on": (ValueError, 5)},
        {"only_on": int},
        {"only_on": ValueError()},
    ],
    ids=str,
)
def test_invalid_values_are_refused_in_one_sentence(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as refused:
        Retry(**bad)
    (name,) = bad
    assert str(refused.value).startswith("retry: ")
    assert name in str(refused.value)
    assert str(refused.value).endswith(".")
