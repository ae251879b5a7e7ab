"""E3: every combination of the fields of a schedule's retry policy, and the policy that it means."""

from __future__ import annotations

from itertools import product
from typing import Any

from workbell import Retry

GIVEN: dict[str, Any] = {"max_retries": 4, "backoff_ms": 500, "backoff_type": "exponential"}


def _meant(policy: dict[str, Any]) -> Retry:
    return Retry(
        attempts=5 if "max_retries" in policy else 3,
        delay=0.5 if "backoff_ms" in policy else 2,
        factor=2 if "backoff_type" in policy else 1,
        cap=86400,
        jitter=0,
    )


POLICIES = [
    (policy, _meant(policy))
    for said in product((True, False), repeat=3)
    for policy in [{word: value for (word, value), given in zip(GIVEN.items(), said, strict=True) if given}]
]
