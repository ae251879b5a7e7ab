"""Tallies: how many runs ended in a minute, how long they took and how long they had waited.

History is never counted: each worker adds up what happens as it happens.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)  # seconds; and above


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Tally of one job in one queue of a tenant, by how the attempts ended: succeeded, failed, canceled or retried."""

    minute: datetime
    tenant: str
    queue: str
    job: str
    status: str
    count: int = 0
    seconds: float = 0.0  # from start to end, of all together
    wait: float = 0.0  # from due to start
    buckets: tuple[int, ...] = ()  # how many took up to each of BUCKETS, and above the last: not cumulated


class TallySum(NamedTuple):
    """Number of attempts of a job that ended in one way within one step of time."""

    step: int  # number of steps since 1970
    job: str
    status: str
    number: int
