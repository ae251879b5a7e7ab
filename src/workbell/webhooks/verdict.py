"""Verdict on the answer to a delivery: delivered, retry (and when), give up, or disable the endpoint (410). Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from workbell.outgoing.answer import HttpAnswer

LONGEST_WAIT = 86400.0  # seconds: a longer Retry-After is cut to this
GONE = 410


class DeliveryVerdict(NamedTuple):
    """`words` are none where the delivery succeeded."""

    words: str | None = None
    wait: float = 0.0
    disable: str | None = None  # why the endpoint is disabled


DELIVERED = DeliveryVerdict()


def verdict(answer: HttpAnswer, now: datetime) -> DeliveryVerdict:
    """Any 2xx is success; a redirect is a failure like every other status."""
    status = answer.status
    if 200 <= status < 300:
        return DELIVERED
    if status == GONE:
        return DeliveryVerdict("It answered 410 Gone.", disable="the endpoint answered 410 Gone: it wants no more")
    wait = min(answer.retry_after(now) or 0.0, LONGEST_WAIT)
    if 300 <= status < 400:
        words = f"It answered {status}, a redirect, and those are not followed; change the endpoint's URL."
    else:
        words = f"It answered {status}."
    if wait:
        words += f" It asks to be left alone for {wait:g} s."
    return DeliveryVerdict(words, wait)


def summary_of(answer: HttpAnswer) -> dict[str, Any]:
    """Record of an answer, for the attempt."""
    return {
        "status_code": answer.status,
        "duration_ms": round(answer.duration * 1000, 1),
        "answer": answer.body_start,
    }
