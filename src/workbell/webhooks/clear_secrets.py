"""Checks for secrets of webhooks and alerts that are stored unencrypted, with the remedy."""

from __future__ import annotations

from workbell.handlers.registry import Registry
from workbell.stores.port import Store
from workbell.trust.sealing import COMMAND, VARIABLE
from workbell.webhooks.describe import is_sealed

HOW = f"set {VARIABLE} (`{COMMAND}` makes a key), then `workbell webhooks seal`"


def stored_in_clear(store: Store, registry: Registry) -> str | None:
    """The warning at the start; None if nothing secret is stored in clear.

    Schedules are not read: there may be many. Those of job files have their URLs in the registry.
    """
    found = []
    if not all(is_sealed(endpoint) for endpoint in store.subscribers.list_endpoints()):
        found.append("webhook secrets, headers and URLs")
    if registry.resources.secret_key is None and any(job.alert_url or job.ping_url for job in registry):
        found.append("the URLs of alerts and pings")
    return f"{' and '.join(found)} are stored in clear; {HOW}" if found else None
