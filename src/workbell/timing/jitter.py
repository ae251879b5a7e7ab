"""Deterministic jitter: drawn from a hash of the schedule and the tick, not at random."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

from workbell.errors import JobsError
from workbell.timing.instants import MICROSECOND, since_epoch

_MOST = 36_525 * 86_400


def jitter(schedule_id: str, due: datetime, span: float) -> timedelta:
    """How much later a tick is due: at least nothing, less than `span` seconds, evenly spread over ticks."""
    if not 0 <= span <= _MOST:  # also refuses NaN
        raise JobsError(f"jitter: {span} is not a span in seconds; choose one from 0 to {_MOST}.")
    tick = since_epoch(due) // MICROSECOND
    drawn = int.from_bytes(blake2b(f"{tick} {schedule_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return MICROSECOND * (drawn * int(span * 1_000_000) >> 64)
