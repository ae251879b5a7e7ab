"""What follows from an event: a run for each trigger and endpoint that it matches, or why there is none. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache

import msgspec

from workbell.events.subscriptions import Subscriber
from workbell.model.endpoint import Endpoint
from workbell.model.event import DEPTH_LIMIT, Event, FannedOut, Match, MatchOutcome
from workbell.model.ids import new_id
from workbell.model.job import DELIVERY
from workbell.model.retry import Retry
from workbell.model.run import Lane, NewRun, Options, Run, Status

DELIVERY_QUEUE = "webhooks"  # so that they can be paused, and seen, apart

LaneOf = Callable[[Subscriber], tuple[Lane, int]]  # and the priority of the job


def fan_out(event: Event, subscribers: Sequence[Subscriber], now: datetime, lane_of: LaneOf) -> FannedOut:
    """All that follows from one event; each subscriber is in the ledger, whatever came of it."""
    matches, runs = [], []
    for subscriber in subscribers:
        if event.depth >= DEPTH_LIMIT:
            reason = f"{event.depth} events lie behind this one, each the cause of the next; the limit is {DEPTH_LIMIT}"
            matches.append(Match(event.id, subscriber.id, MatchOutcome.TOO_DEEP, now, None, reason))
        elif not subscriber.enabled:
            reason = getattr(subscriber, "reason", None) or "it was disabled"
            matches.append(Match(event.id, subscriber.id, MatchOutcome.DISABLED, now, None, reason))
        else:
            request = request_for(event, subscriber, now, *lane_of(subscriber))
            runs.append(request)
            matches.append(Match(event.id, subscriber.id, MatchOutcome.STARTED, now, request.run.id))
    return FannedOut(event.id, tuple(matches), tuple(runs))


def request_for(event: Event, subscriber: Subscriber, now: datetime, lane: Lane, priority: int = 0) -> NewRun:
    """The run that an event makes for a trigger or an endpoint; it names the event, and carries nothing of it."""
    input_text = _delivery_input(subscriber.id) if isinstance(subscriber, Endpoint) else None
    return NewRun(
        Run(
            new_id(),
            lane,
            Status.QUEUED,
            -priority,
            now,
            now,
            now,
            input_text=input_text,
            options_text=_options_text(subscriber.id, subscriber.retry, event.depth, event.system),
            event=event.id,
        )
    )


def delivery_lane(endpoint: Endpoint) -> Lane:
    """Every endpoint has a lane of its own: what waits for one does not hold up another."""
    return Lane(endpoint.tenant, DELIVERY_QUEUE, DELIVERY, None, endpoint.id)


def ping_lane(endpoint: Endpoint) -> Lane:
    """A ping passes what waits for the endpoint, and is sent also where that is only probed."""
    return Lane(endpoint.tenant, DELIVERY_QUEUE, DELIVERY, None, f"ping:{endpoint.id}")


# There are few triggers and many events.


@lru_cache(maxsize=4096)
def _options_text(trigger: str, retry: Retry | None, depth: int, quiet: bool) -> str:
    return msgspec.json.encode(Options(retry=retry, trigger=trigger, depth=depth, quiet=quiet)).decode()


@lru_cache(maxsize=4096)
def _delivery_input(endpoint_id: str) -> str:
    return msgspec.json.encode({"endpoint": endpoint_id}).decode()
