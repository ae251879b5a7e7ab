"""The verbs about triggers and webhook endpoints that every SQL store has alike.

Every change raises a number, in the same transaction: whoever keeps triggers in mind asks for that alone.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from workbell.errors import WorkbellError
from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import Event
from workbell.model.trigger import Trigger
from workbell.stores import event_rows
from workbell.stores.database import Row
from workbell.stores.session import Session

T = TypeVar("T")

log = logging.getLogger("workbell.events")


class SqlSubscribers(ABC):
    """Triggers, endpoints and their health over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def tell_in(self, session: Session, told: Iterable[Event]) -> None: ...

    def subscriptions_version(self) -> int:
        return self.read(lambda session: int(session.rows("subscriptions")[0][0]))

    def _change(self, work: Callable[[Session], bool]) -> bool:
        def both(session: Session) -> bool:
            changed = work(session)
            if changed:
                session.rows("raise_subscriptions")
            return changed

        return self.write(both)

    # Triggers

    def write_trigger(self, trigger: Trigger, expected: int | None) -> bool:
        values = event_rows.trigger_values(trigger)

        def work(session: Session) -> bool:
            if expected is None:
                return bool(session.rows("add_trigger", **values))
            return bool(session.rows("update_trigger", **(values | {"expected": expected, "version": expected + 1})))

        return self._change(work)

    def delete_trigger(self, trigger_id: str, expected: int | None = None) -> bool:
        return self._change(lambda session: bool(session.rows("delete_trigger", id=trigger_id, expected=expected)))

    def declare_triggers(self, ids: Sequence[str], now: datetime) -> None:
        if ids:
            self.write(lambda session: session.rows("declare_triggers", ids=list(ids), now=now))

    def list_triggers(self, tenant: str | None = None) -> list[Trigger]:
        def work(session: Session) -> list[Trigger]:
            found = session.rows("triggers") if tenant is None else session.rows("list_triggers", tenant=tenant)
            return _readable("trigger", event_rows.trigger_from, found)

        # A database may have an order of its own for words.
        return sorted(self.read(work), key=lambda trigger: (trigger.tenant, trigger.name))

    # Endpoints

    def write_endpoint(self, endpoint: Endpoint, expected: int | None, emits: Sequence[Event] = ()) -> bool:
        values = event_rows.endpoint_values(endpoint)

        def work(session: Session) -> bool:
            if expected is None:
                return bool(session.rows("add_endpoint", **values))
            version = {"expected": expected, "version": expected + 1}
            written = bool(session.rows("update_endpoint", **(values | version)))
            if written and emits:
                self.tell_in(session, emits)
            return written

        return self._change(work)

    def delete_endpoint(self, endpoint_id: str) -> bool:
        def work(session: Session) -> bool:
            session.rows("delete_health", id=endpoint_id)
            return bool(session.rows("delete_endpoint", id=endpoint_id))

        return self._change(work)

    def find_endpoint(self, endpoint_id: str) -> Endpoint | None:
        found = self.read(lambda session: session.rows("find_endpoint", id=endpoint_id))
        return event_rows.endpoint_from(found[0]) if found else None

    def list_endpoints(self, tenant: str | None = None) -> list[Endpoint]:
        def work(session: Session) -> list[Endpoint]:
            found = session.rows("endpoints") if tenant is None else session.rows("list_endpoints", tenant=tenant)
            return _readable("endpoint", event_rows.endpoint_from, found)

        return self.read(work)

    # How deliveries go

    def note_delivery(self, endpoint_id: str, succeeded: bool, now: datetime) -> Health:
        name = "note_success" if succeeded else "note_failure"
        return self.write(lambda session: event_rows.health_from(session.rows(name, id=endpoint_id, now=now)[0]))

    def find_health(self, endpoint_id: str) -> Health:
        found = self.read(lambda session: session.rows("find_health", id=endpoint_id))
        return event_rows.health_from(found[0]) if found else Health(endpoint_id)

    def failing_endpoints(self, at_least: int) -> list[str]:
        return [row[0] for row in self.read(lambda session: session.rows("failing_endpoints", at_least=at_least))]

    def forget_health(self, endpoint_id: str) -> None:
        self.write(lambda session: session.rows("delete_health", id=endpoint_id))


def _readable(what: str, make: Callable[[Row], T], found: Sequence[Row]) -> list[T]:
    """One that is broken in the store must not keep the others from being heard."""
    made = []
    for row in found:
        try:
            made.append(make(row))
        except (msgspec.DecodeError, WorkbellError) as error:
            log.error("%s %s cannot be read, and is left out: %s", what, row[0], error)
    return made
