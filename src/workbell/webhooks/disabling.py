"""Switching an endpoint off: by somebody, by its own 410, or after days in which every delivery failed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from workbell.errors import StoreError
from workbell.events.subscriptions import Subscriptions
from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import SYSTEM_SOURCE, Event
from workbell.model.ids import new_id
from workbell.model.payload import encode
from workbell.model.system_events import WEBHOOK_DISABLED
from workbell.stores.port import Store

log = logging.getLogger("workbell.webhooks")

TRIES = 20
FEWEST_FAILURES = 10  # in a row: an endpoint that is rarely sent to must not go for a bad day or two


def change(store: Store, endpoint_id: str, decide: Callable[[Endpoint], Endpoint | None]) -> Endpoint | None:
    """Change an endpoint, looking again where somebody else was faster; none: it is not there, or needs no change."""
    for _ in range(TRIES):
        known = next((one for one in store.list_endpoints() if one.id == endpoint_id), None)
        new = None if known is None else decide(known)
        if known is None or new is None:
            return None
        if store.write_endpoint(new, known.version):
            return msgspec.structs.replace(new, version=known.version + 1)
    raise StoreError(f"endpoint {endpoint_id}: others change it all the time; try again.")


def is_given_up(health: Health, now: datetime, after: timedelta) -> bool:
    """Whether an endpoint has failed for so long, and so often, that nothing more is sent to it."""
    return (
        health.failing_since is not None and health.failures >= FEWEST_FAILURES and now - health.failing_since >= after
    )


def disable(
    store: Store, subscriptions: Subscriptions, endpoint_id: str, reason: str, now: datetime, url: str | None = None
) -> Endpoint | None:
    """Switch an endpoint off and tell so; none, if it was off already.

    `url` is where the reason was found: an endpoint that is somewhere else by now is left alone.
    """

    def off(known: Endpoint) -> Endpoint | None:
        if not known.enabled or url not in (None, known.url):
            return None
        return msgspec.structs.replace(known, enabled=False, reason=reason, disabled_at=now, updated_at=now)

    changed = change(store, endpoint_id, off)
    if changed is None:
        return None
    log.warning("webhook endpoint %s is disabled: %s", endpoint_id, reason)
    if subscriptions.current().who_hears(changed.tenant, WEBHOOK_DISABLED, system=True):
        data = {"endpoint": changed.id, "url": changed.shown_url, "reason": reason}
        key = f"{WEBHOOK_DISABLED}:{changed.id}:{changed.version}"
        text = encode("event", data)
        store.add_events(
            [
                Event(
                    new_id(),
                    changed.tenant,
                    WEBHOOK_DISABLED,
                    SYSTEM_SOURCE,
                    now,
                    now,
                    subject=changed.id,
                    data_text=text,
                    key=key,
                    system=True,
                )
            ]
        )
    return changed
