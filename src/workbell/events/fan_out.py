"""Fan-out of an event: a run for each trigger and endpoint that it matches, or why there is none. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import msgspec

from workbell.events.subscriptions import Subscriber
from workbell.model.endpoint import Endpoint
from workbell.model.event import DEPTH_LIMIT, Event, FannedOut, Match, MatchOutcome
from workbell.model.job import DELIVERY, UNKNOWN, RunTerms
from workbell.model.limit import NO_LIMITS, limit_key
from workbell.model.request import made_by_rule, run_options
from workbell.model.retry import ONCE
from workbell.model.run import Lane, NewRun
from workbell.model.run_defaults import Maker, RunDefaults, layered
from workbell.model.trigger import DEFAULT_RETRY, Trigger

DELIVERY_QUEUE = "webhooks"  # so that they can be paused, and seen, apart
TO_ALL = RunTerms(DELIVERY_QUEUE)  # of a trigger's runs that make deliveries: no endpoint's limits or retries


class Destination(NamedTuple):
    """Lane and terms of the runs of a subscriber."""

    lane: Lane
    said: RunDefaults
    template: str | None = None  # the input template of the job
    refusal: str | None = None  # why no runs are made


DestinationOf = Callable[[Subscriber], Destination]


def fan_out(
    event: Event, subscribers: Sequence[Subscriber], now: datetime, destination_of: DestinationOf, maker: Maker
) -> FannedOut:
    """The fan-out of one event; each matching subscriber is in the ledger, with its outcome."""
    matches, runs = [], []
    for subscriber in subscribers:
        if event.depth >= DEPTH_LIMIT:
            reason = f"{event.depth} events lie behind this one, each the cause of the next; the limit is {DEPTH_LIMIT}"
            matches.append(Match(event.id, subscriber.id, MatchOutcome.TOO_DEEP, now, None, reason))
        elif not subscriber.enabled:
            reason = getattr(subscriber, "reason", None) or "it was disabled"
            matches.append(Match(event.id, subscriber.id, MatchOutcome.DISABLED, now, None, reason))
        elif (refusal := (destination := destination_of(subscriber)).refusal) is not None:
            matches.append(Match(event.id, subscriber.id, MatchOutcome.DISABLED, now, None, refusal))
        else:
            request = request_for(event, subscriber, now, destination, maker)
            runs.append(request)
            matches.append(Match(event.id, subscriber.id, MatchOutcome.STARTED, now, request.run.id))
    return FannedOut(event.id, tuple(matches), tuple(runs))


def request_for(event: Event, subscriber: Subscriber, now: datetime, destination: Destination, maker: Maker) -> NewRun:
    """The run that an event makes for a trigger or an endpoint; it names the event, and carries nothing of it.

    Where the job is a definition, its input is the template of the definition.
    """
    return made_by_rule(
        destination.lane,
        destination.said,
        run_options(destination.said, maker, trigger=subscriber.id, depth=event.depth, quiet=event.system),
        due=now,
        now=now,
        maker=maker,
        input_text=_delivery_input(subscriber.id) if isinstance(subscriber, Endpoint) else destination.template,
        event=event.id,
    )


def destination_for(trigger: Trigger, terms: RunTerms = UNKNOWN) -> Destination:
    """Where a trigger's runs go. Where neither it nor its job says how they are retried, that is as of event jobs."""
    terms = TO_ALL if trigger.job == DELIVERY else terms
    said = layered(trigger.said, terms.defaults)
    if said.retry is None and terms.retry is None:
        said = msgspec.structs.replace(said, retry=DEFAULT_RETRY)
    key = None if terms.limits is NO_LIMITS else limit_key(terms.limits, terms.template)
    lane = Lane(trigger.tenant, said.queue or terms.queue, trigger.job, said.target, key)
    return Destination(lane, said, terms.template, terms.refusal)


def delivery_destination(endpoint: Endpoint) -> Destination:
    return Destination(delivery_lane(endpoint), RunDefaults(retry=endpoint.retry))


def ping_destination(endpoint: Endpoint) -> Destination:
    """Retry policy of a ping: one attempt, as the caller waits for its outcome."""
    return Destination(ping_lane(endpoint), RunDefaults(retry=ONCE))


def delivery_lane(endpoint: Endpoint) -> Lane:
    """Every endpoint has a lane of its own: deliveries to one do not wait for another."""
    return Lane(endpoint.tenant, DELIVERY_QUEUE, DELIVERY, None, endpoint.id)


def ping_lane(endpoint: Endpoint) -> Lane:
    """A ping passes what waits for the endpoint, and is sent also where that is only probed."""
    return Lane(endpoint.tenant, DELIVERY_QUEUE, DELIVERY, None, f"ping:{endpoint.id}")


# There are few endpoints and many events.


@lru_cache(maxsize=4096)
def _delivery_input(endpoint_id: str) -> str:
    return msgspec.json.encode({"endpoint": endpoint_id}).decode()
