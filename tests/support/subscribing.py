"""Subscriptions for tests: a trigger written straight into the store, and the events that were stored."""

from __future__ import annotations

from workbell.model.event import Event
from workbell.model.ids import new_id
from workbell.model.job import TENANT
from workbell.model.trigger import Trigger
from workbell.stores.port import Store


def subscribe(
    store: Store, pattern: str, *, job: str = "nothing", tenant: str = TENANT, enabled: bool = True
) -> Trigger:
    """A trigger of its own for this pattern."""
    now, trigger_id = store.clock.now(), new_id()
    trigger = Trigger(
        id=trigger_id,
        name=f"t-{trigger_id}",
        pattern=pattern,
        job=job,
        tenant=tenant,
        enabled=enabled,
        created_at=now,
        updated_at=now,
    )
    assert store.subscribers.write_trigger(trigger, None)
    return trigger


def stored(store: Store, type: str | None = None, *, tenant: str = TENANT) -> list[Event]:  # noqa: A002
    """What was stored, oldest first."""
    return store.events.list(tenant, type=type, before=None, limit=1000)[::-1]
