"""Triggers and webhook endpoints, in the store.

Every change raises a version number, in the same transaction: a process that caches triggers reads that alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import Event
from workbell.model.trigger import Trigger
from workbell.stores.database import Batch, Conflict, Database, Row, Rows, Statement, read_rows, write_rows
from workbell.stores.event_rows import EVENT, event_values
from workbell.stores.pending_entry import write_action, write_guarded
from workbell.stores.subscribers.rows import (
    endpoint_from,
    endpoint_values,
    health_from,
    trigger_from,
    trigger_values,
)

RAISE = Statement("raise_subscriptions")


class Subscribers:
    """Triggers, endpoints, and how deliveries to these go."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def version(self) -> int:
        """The version number, which changes with every trigger or endpoint."""
        return int(read_rows(self._database, "subscriptions")[0][0])

    # Triggers

    def write_trigger(self, trigger: Trigger, expected: int | None) -> bool:
        """A new trigger (`expected` is none), or a change if it still has this version; each if its name is free."""
        return self._change("trigger", trigger_values(trigger), expected)

    def delete_trigger(self, trigger_id: str, expected: int | None = None) -> bool:
        """Remove a trigger, with `expected` only that version."""
        gone = Statement("delete_trigger", {"id": trigger_id, "expected": expected})
        return bool(write_guarded(self._database, gone, RAISE))

    def declare_triggers(self, ids: Sequence[str], now: datetime) -> None:
        """Note that code still wants these."""
        if ids:
            write_rows(self._database, "declare_triggers", ids=list(ids), now=now)

    def list_triggers(self, tenant: str | None = None) -> list[Trigger]:
        """The triggers of a tenant, or of all, by name."""
        found = self._listed("triggers", "list_triggers", tenant)
        # A database may have an order of its own for words.
        return sorted(map(trigger_from, found), key=lambda trigger: (trigger.tenant, trigger.name))

    # Endpoints

    def write_endpoint(self, endpoint: Endpoint, expected: int | None, emits: Sequence[Event] = ()) -> bool:
        """A new endpoint (`expected` is none), or a change if it still has this version; with its events."""
        if not emits:
            return self._change("endpoint", endpoint_values(endpoint), expected)
        version = endpoint.version if expected is None else expected + 1
        written = {"endpoint": endpoint.id, "version": version, "written_at": endpoint.updated_at}
        events = Rows(EVENT, [list(event_values(event).values()) for event in emits])
        emitted = Statement("add_events_of_endpoint", {"rows": events, **written})
        return self._change("endpoint", endpoint_values(endpoint), expected, [emitted])

    def delete_endpoint(self, endpoint_id: str) -> bool:
        key = {"id": endpoint_id}
        batch = [Statement("delete_health", key), Statement("delete_endpoint", key, exactly=1), RAISE]
        try:
            write_action(self._database, batch)
        except Conflict:
            return False
        return True

    def find_endpoint(self, endpoint_id: str) -> Endpoint | None:
        found = read_rows(self._database, "find_endpoint", id=endpoint_id)
        return endpoint_from(found[0]) if found else None

    def list_endpoints(self, tenant: str | None = None) -> list[Endpoint]:
        """The endpoints of a tenant, or of all, oldest first."""
        return [endpoint_from(row) for row in self._listed("endpoints", "list_endpoints", tenant)]

    # How deliveries go

    def note_delivery(self, endpoint_id: str, succeeded: bool, now: datetime) -> Health:
        """Note the outcome of a delivery; the health of the endpoint now."""
        name = "note_success" if succeeded else "note_failure"
        return health_from(write_rows(self._database, name, id=endpoint_id, now=now)[0])

    def find_health(self, endpoint_id: str) -> Health:
        found = read_rows(self._database, "find_health", id=endpoint_id)
        return health_from(found[0]) if found else Health(endpoint_id)

    def list_health(self) -> list[Health]:
        """The health of all endpoints that something was sent to."""
        return [health_from(row) for row in read_rows(self._database, "all_health")]

    def failing_endpoints(self, at_least: int) -> list[str]:
        """Endpoints to which so many attempts in a row have failed."""
        return [row[0] for row in read_rows(self._database, "failing_endpoints", at_least=at_least)]

    def forget_health(self, endpoint_id: str) -> None:
        """Reset the health of an endpoint."""
        write_rows(self._database, "delete_health", id=endpoint_id)

    # Copying

    def loading(self, triggers: Sequence[Trigger], endpoints: Sequence[Endpoint], health: Sequence[Health]) -> Batch:
        """The statements that take over subscribers of another store."""
        batch = [Statement("add_trigger", trigger_values(trigger)) for trigger in triggers]
        batch += [Statement("add_endpoint", endpoint_values(endpoint)) for endpoint in endpoints]
        batch += [Statement("load_health", msgspec.structs.asdict(one)) for one in health]
        return [*batch, RAISE] if batch else []

    def _listed(self, every: str, of_tenant: str, tenant: str | None) -> list[Row]:
        if tenant is None:
            return read_rows(self._database, every)
        return read_rows(self._database, of_tenant, tenant=tenant)

    def _change(self, kind: str, values: dict[str, Any], expected: int | None, emitted: Batch = ()) -> bool:
        if expected is None:
            change = Statement(f"add_{kind}", values)
        else:
            change = Statement(f"update_{kind}", values | {"expected": expected, "version": expected + 1})
        try:
            return bool(write_guarded(self._database, change, RAISE, *emitted, makes=values["id"]))
        except Conflict:  # of two that take a name at once, the second
            return False
