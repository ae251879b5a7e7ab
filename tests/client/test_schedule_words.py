"""Who wanted a schedule, and its policy in the words it was written in (E1, E3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Retry, Workbell


@pytest.fixture
def bell() -> Workbell:
    bell = Workbell(store=fresh_store())

    @bell.job
    def work() -> None: ...

    return bell


def test_who_wanted_it_stays(bell: Workbell) -> None:
    bell.schedules.put("often", job="work", every=60, created_by="ada")
    assert bell.schedules.put("often", job="work", every=90).options.created_by == "ada"
    assert bell.schedules.put("often", job="work", every=90, created_by="bob").options.created_by == "bob"
    assert bell.schedules.put("others", job="work", every=90).options.created_by == ""


@pytest.mark.parametrize(
    "policy",
    [
        {"max_retries": 2, "backoff_ms": 500.0, "backoff_type": "fixed"},
        {"max_retries": 0, "backoff_ms": 1000.0, "backoff_type": "exponential"},
        {"max_retries": 3, "backoff_ms": 200_000_000.0, "backoff_type": "fixed"},
    ],
)
def test_a_policy_is_read_back_as_it_was_written(bell: Workbell, policy: dict[str, Any]) -> None:
    made = bell.schedules.put("often", job="work", every=60, retry=policy)
    assert made.as_dict()["retry_policy"] == policy
    assert made.as_dict()["retry"] == made.options.retry


def test_a_policy_that_these_words_cannot_say(bell: Workbell) -> None:
    for retry in (3, Retry(attempts=3, factor=3, jitter=0)):
        made = bell.schedules.put("often", job="work", every=60, retry=retry)
        assert made.as_dict()["retry_policy"] is None
