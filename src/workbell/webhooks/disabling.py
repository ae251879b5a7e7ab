"""Disables an endpoint: by hand, by its own 410, or after days in which every delivery failed."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import msgspec

from workbell.events.subscriptions import Subscriptions
from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import SYSTEM_SOURCE, Event
from workbell.model.ids import new_id
from workbell.model.json_text import encode
from workbell.model.system_events import WEBHOOK_DISABLED
from workbell.stores.port import Store
from workbell.webhooks.changing import EndpointUpdate, change

log = logging.getLogger("workbell.webhooks")

FEWEST_FAILURES = 10  # in a row: an endpoint that is rarely sent to must not go for a bad day or two


def is_given_up(health: Health, now: datetime, after: timedelta) -> bool:
    """Whether an endpoint has failed for so long, and so often, that nothing more is sent to it."""
    return (
        health.failing_since is not None and health.failures >= FEWEST_FAILURES and now - health.failing_since >= after
    )


def disable(
    store: Store, subscriptions: Subscriptions, endpoint_id: str, reason: str, now: datetime, url: str | None = None
) -> Endpoint | None:
    """Disable an endpoint and publish `webhook.disabled`; None if it was disabled already.

    `url` is the URL that failed: an endpoint whose URL has changed since is left alone.
    """

    def off(known: Endpoint) -> EndpointUpdate | None:
        if not known.enabled or url not in (None, known.url):
            return None
        new = msgspec.structs.replace(known, enabled=False, reason=reason, disabled_at=now, updated_at=now)
        is_subscribed = subscriptions.current().subscribers_to(known.tenant, WEBHOOK_DISABLED, system=True)
        return EndpointUpdate(new, (_disabled_event(new, now),) if is_subscribed else ())

    changed = change(store, endpoint_id, off)
    if changed is not None:
        level = logging.INFO if url is None else logging.WARNING  # by hand, or found out while sending
        log.log(level, "webhook endpoint %s is disabled: %s", endpoint_id, reason)
    return changed


def _disabled_event(endpoint: Endpoint, now: datetime) -> Event:
    data = {"endpoint": endpoint.id, "url": endpoint.shown_url, "reason": endpoint.reason}
    return Event(
        new_id(),
        endpoint.tenant,
        WEBHOOK_DISABLED,
        SYSTEM_SOURCE,
        now,
        now,
        subject=endpoint.id,
        data_text=encode("event", data),
        key=f"{WEBHOOK_DISABLED}:{endpoint.id}:{endpoint.version}",
        system=True,
    )
