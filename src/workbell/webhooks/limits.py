"""How many deliveries an endpoint gets at once, and in a span of time: as it says itself, else a few at once."""

from __future__ import annotations

from collections.abc import Sequence

from workbell.events.subscriptions import Subscriptions
from workbell.model.limit import Limit, Limits, limits_on
from workbell.model.run import Lane

AT_ONCE = 5  # deliveries to one endpoint, if it does not say: one that never answers holds no more places than that
KEY = "endpoint"
STANDARD = Limits(concurrency=AT_ONCE, concurrency_key=KEY)
FRESH = 1.0  # seconds that what is known of the endpoints is good for, here


class DeliveryLimits:
    """The limits of a lane of deliveries, whose key is its endpoint."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions

    def __call__(self, lane: Lane) -> Sequence[Limit]:
        endpoint = self._subscriptions.recent(FRESH).endpoints.get(lane.key or "")
        if endpoint is None:
            return limits_on(STANDARD, lane)
        rate_key = None if endpoint.rate is None else KEY
        return limits_on(Limits(endpoint.concurrency or AT_ONCE, KEY, endpoint.rate, rate_key), lane)
