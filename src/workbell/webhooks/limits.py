"""Concurrency and rate limits of deliveries per endpoint: its own, else 5 at once.

An endpoint that never answers holds a worker's slot for as long as an attempt may take, so several of them would hold
all slots. Therefore an endpoint that failed ten times in a row gets one delivery a minute as a probe, until it answers
again. The other deliveries wait meanwhile, and use none of their attempts.
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
FRESH = 1.0  # seconds that failing endpoints are cached


class DeliveryLimits:
    """The limits of a lane of deliveries, whose key is its endpoint."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self._failing: frozenset[str] = frozenset()
        self._read_at: float | None = None

    @property
    def _store(self) -> Store:
        return self._subscriptions.store

    def is_failing(self, endpoint_id: str) -> bool:
        """Whether an endpoint is only probed, as of the last read."""
        return endpoint_id in self._failing

    def __call__(self, lane: Lane) -> Sequence[Limit]:
        if lane.key is None:  # a trigger's run, which sends nothing itself
            return ()
        endpoint = self._subscriptions.recent(FRESH).endpoints.get(lane.key or "")
        if endpoint is None or not endpoint.enabled:  # what is left of it is canceled as it starts
            return limits_on(STANDARD, lane)
        self._read_failing()
        if self.is_failing(endpoint.id):
            return limits_on(PROBE, lane)
        rate_key = None if endpoint.rate is None else KEY
        return limits_on(Limits(endpoint.concurrency or AT_ONCE, KEY, endpoint.rate, rate_key), lane)

    def _read_failing(self) -> None:
        now = self._store.clock.monotonic()
        if self._read_at is None or now - self._read_at > FRESH:
            self._read_at = now
            self._failing = frozenset(self._store.subscribers.failing_endpoints(FAILING_AFTER))
