"""Describes a slowed endpoint: since when, how many deliveries wait, and what resumes them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from workbell.events.fan_out import delivery_lane
from workbell.model.endpoint import Endpoint, Health
from workbell.model.run import PENDING
from workbell.model.run_page import Counted
from workbell.stores.port import Filter, Store
from workbell.webhooks.limits import FAILING_AFTER


class Slowed(NamedTuple):
    """An endpoint that gets one attempt a minute, because so many in a row have failed."""

    endpoint: str
    failures: int
    since: datetime  # the first of them
    waiting: Counted  # deliveries that have not started

    @property
    def words(self) -> str:
        number = f"{self.waiting.count:,}{' or more' if self.waiting.capped else ''}"
        wait = "1 delivery waits" if number == "1" else f"{number} deliveries wait"
        failed = f"{self.failures:,} attempts in a row have failed since {self.since:%Y-%m-%d %H:%M:%S} UTC"
        return f"slowed to one attempt a minute: {failed}; {wait}"

    @property
    def remedy(self) -> str:
        return f"`workbell webhooks test {self.endpoint}` tries now, and lets them go on if it is answered."


def slowed(store: Store, endpoint: Endpoint, health: Health | None = None) -> Slowed | None:
    """How an endpoint is slowed; none, if it is not."""
    if not endpoint.enabled:
        return None
    health = store.subscribers.find_health(endpoint.id) if health is None else health
    if health.failures < FAILING_AFTER or health.failing_since is None:
        return None
    lane = delivery_lane(endpoint)
    wanted = Filter(lane.tenant, PENDING, job=lane.job, queue=lane.queue, lane_key=lane.key)
    return Slowed(endpoint.id, health.failures, health.failing_since, store.reports.count(wanted))
