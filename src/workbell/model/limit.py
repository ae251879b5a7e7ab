"""Limits of a job: how many of its runs may be running at once, and how many may start in a span of time."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """What a job asks for, over all machines. A key names the argument by whose value is counted; none: all runs."""

    concurrency: int | None = None
    concurrency_key: str | None = None
    rate: str | None = None  # "100/m"
    rate_key: str | None = None


NO_LIMITS = Limits()
