"""Event and webhook checks of the doctor: waiting events, disabled or failing endpoints, missing extras."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from importlib.util import find_spec

from workbell.doctor.finding import MOST, Finding, with_remedy
from workbell.doctor.spans import span
from workbell.model.endpoint import Endpoint
from workbell.stores.port import Store
from workbell.webhooks.clear_secrets import HOW
from workbell.webhooks.describe import is_sealed
from workbell.webhooks.slowed import slowed

OVERDUE = timedelta(seconds=30)


def event_findings(store: Store) -> Iterator[Finding]:
    now = store.clock.now()
    yield from _waiting(store, now)
    endpoints = store.subscribers.list_endpoints()
    if endpoints:
        yield from _endpoints(store, endpoints, now)


def _waiting(store: Store, now: datetime) -> Iterator[Finding]:
    waiting = store.events.waiting(1)
    if waiting and now - waiting[0].created_at > OVERDUE:
        late = span(now - waiting[0].created_at)
        yield with_remedy(
            "risk", "events", f"one has waited for {late}, and no scheduler takes it; start one (`workbell start`)."
        )


def _endpoints(store: Store, endpoints: Sequence[Endpoint], now: datetime) -> Iterator[Finding]:
    disabled = [endpoint for endpoint in endpoints if not endpoint.enabled]
    count = "1 endpoint" if len(endpoints) == 1 else f"{len(endpoints):,} endpoints"
    yield Finding("ok", "webhooks", f"{count}, {len(disabled):,} disabled")
    if find_spec("httpx2") is None:
        lacks = "httpx2 is not installed here, so nothing is sent from here; pip install 'workbell[webhooks]'."
        yield with_remedy("note", "webhooks", lacks)
    if not all(is_sealed(endpoint) for endpoint in endpoints):
        # A key that is set now seals what is written from now on.
        yield with_remedy("note", "webhooks", f"secrets are stored unsealed; {HOW}.")
    for endpoint in disabled[:MOST]:
        yield Finding("note", "disabled endpoint", f"{endpoint.id} ({endpoint.shown_url}): {endpoint.reason}")
    failing = set(store.subscribers.failing_endpoints(1))
    for endpoint in [one for one in endpoints if one.enabled and one.id in failing][:MOST]:
        health = store.subscribers.find_health(endpoint.id)
        brake = slowed(store, endpoint, health)
        if brake is not None:
            text = f"{endpoint.id} ({endpoint.shown_url}): {brake.words}; {brake.remedy}"
            yield with_remedy("risk", "slowed endpoint", text)
            continue
        if health.failing_since is not None:  # it may have answered just now
            since = span(now - health.failing_since)
            row = f"{health.failures:,} attempts in a row" if health.failures > 1 else "the last attempt"
            text = f"{endpoint.id} ({endpoint.shown_url}): {row} failed; the first of them {since} ago"
            yield Finding("note", "failing endpoint", text)
