"""How many deliveries an endpoint gets at once, and in a span of time: as it says itself, else a few at once.

One that never answers holds a worker's place for as long as an attempt may take, so several of them would hold all
places. Therefore an endpoint that has failed often enough in a row is only looked at now and then, by one delivery,
until it answers again. The others wait meanwhile, and spend none of their attempts.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbell.events.subscriptions import Subscriptions
from workbell.model.limit import Limit, Limits, limits_on
from workbell.model.run import Lane
from workbell.stores.port import Store

AT_ONCE = 5  # deliveries to one endpoint, if it does not say
KEY = "endpoint"
STANDARD = Limits(concurrency=AT_ONCE, concurrency_key=KEY)
FAILING_AFTER = 10  # failed attempts in a row
PROBE = Limits(concurrency=1, concurrency_key=KEY, rate="1/m", rate_key=KEY)
FRESH = 1.0  # seconds that what is known of the endpoints is good for, here


class DeliveryLimits:
    """The limits of a lane of deliveries, whose key is its endpoint."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self._failing: frozenset[str] = frozenset()
        self._looked_at: float | None = None

    @property
    def _store(self) -> Store:
        return self._subscriptions.store

    def is_failing(self, endpoint_id: str) -> bool:
        """Whether an endpoint is only probed, as far as we know."""
        return endpoint_id in self._failing

    def __call__(self, lane: Lane) -> Sequence[Limit]:
        if lane.key is None:  # a trigger's run, which sends nothing itself
            return ()
        endpoint = self._subscriptions.recent(FRESH).endpoints.get(lane.key or "")
        if endpoint is None or not endpoint.enabled:  # what is left of it is canceled as it starts
            return limits_on(STANDARD, lane)
        self._look()
        if self.is_failing(endpoint.id):
            return limits_on(PROBE, lane)
        rate_key = None if endpoint.rate is None else KEY
        return limits_on(Limits(endpoint.concurrency or AT_ONCE, KEY, endpoint.rate, rate_key), lane)

    def _look(self) -> None:
        now = self._store.clock.monotonic()
        if self._looked_at is None or now - self._looked_at > FRESH:
            self._looked_at = now
            self._failing = frozenset(self._store.subscribers.failing_endpoints(FAILING_AFTER))
