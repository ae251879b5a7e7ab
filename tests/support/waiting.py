"""Waiting on a condition with a deadline: the one place where tests poll."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from workbell.errors import StoreUnavailable

T = TypeVar("T")

DEADLINE = 30.0
PACE = 0.02


def until(condition: Callable[[], T], what: str = "the condition", deadline: float = DEADLINE) -> T:
    """Ask again and again until the answer is true; the answer. Fails with a sentence when the time is over."""
    end = time.monotonic() + deadline
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {deadline:g} s; the last answer was {answer!r}")
        time.sleep(PACE)


def insist(call: Callable[[], T]) -> T:
    """As a patient caller does: again and again while the database is away."""

    def attempt() -> list[T]:
        try:
            return [call()]
        except StoreUnavailable:
            return []

    return until(attempt, "the database to be back", 60)[0]
