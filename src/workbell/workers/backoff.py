"""Backoff before a dead child is restarted. Pure."""

from __future__ import annotations

FIRST = 0.1
MOST = 3.0
STEADY = 10.0  # a child that lived so long did not die of its start


def next_failures(failures: int, lived: float) -> int:
    """How many quick deaths in a row there are, after one more."""
    return 1 if lived >= STEADY else failures + 1


def wait_after(failures: int) -> float:
    """Seconds: not long at first, so that one bad run does not cost a worker; then longer and longer."""
    return float(min(FIRST * 2 ** min(failures - 1, 10), MOST)) if failures > 0 else 0.0
