"""The verb that tells a fact: `bell.emit("posts.created", {...})`. It is stored; all that follows comes from there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import msgspec

from workbell.errors import InvalidEvent
from workbell.handlers.current_run import current_run, depth_behind
from workbell.model.clock import aware
from workbell.model.event import SYSTEM_SOURCE, Event, OnceTold
from workbell.model.ids import new_id
from workbell.model.job import name
from workbell.model.patterns import check_type
from workbell.model.payload import encode
from workbell.model.run import Added
from workbell.model.system_events import SYSTEM_TYPES
from workbell.stores.port import Store

T = TypeVar("T")

SOURCE_LIMIT = 1024  # bytes: with a key and a tenant it has to fit into one row of an index of PostgreSQL


class Fact(NamedTuple):
    """What somebody tells; `time` is when it happened, if that was not just now."""

    type: str
    data: Any = None
    subject: str | None = None
    source: str | None = None
    key: str | None = None
    time: datetime | None = None


class Emitting(ABC):
    """The part of a client that emits events."""

    store: Store
    tenant: str
    nudge: Callable[[], None]
    event_source: str

    @abstractmethod
    def hop(self, call: Callable[[], T]) -> Awaitable[T]: ...

    @abstractmethod
    def hop_apart(self, call: Callable[[], T]) -> Awaitable[T]: ...

    def emit(
        self,
        type: str,  # noqa: A002
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        """Tell a fact: `bell.emit("posts.created", {"id": 7})`; every trigger that matches it starts one run.

        Of events with one `source` and `key` there is one: told again, it is the first one that you get. With
        `connection=` it exists if and when the caller's own transaction commits.
        """
        event = self._event(type, data, subject, source, key)
        self.store.check(joining=connection is not None)
        if connection is None:
            added = self.store.events.add([event])[0]
            self.nudge()
        else:
            added = self.store.events.add_on(connection, event)
        return event if added.created else self._told_before(event, added)

    async def aemit(
        self,
        type: str,  # noqa: A002
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        if connection is None:
            hop = self.hop if key is None else self.hop_apart
            return await hop(lambda: self.emit(type, data, subject=subject, source=source, key=key))
        event = self._event(type, data, subject, source, key)
        await self.hop(lambda: self.store.check(joining=True))
        added = await self.store.events.aadd_on(connection, event)
        return event if added.created else await self.hop(lambda: self._told_before(event, added))

    def _told_before(self, event: Event, added: Added) -> Event:
        # In a caller's transaction the first one may not be visible to us yet; its id is what counts.
        told = msgspec.structs.replace(event, id=added.id)
        return self.store.events.find([added.id]).get(added.id, told)

    def _event(self, type: str, data: Any, subject: str | None, source: str | None, key: str | None) -> Event:  # noqa: A002
        if check_type(type) in SYSTEM_TYPES:
            raise InvalidEvent(
                f"event {type}: Workbell tells this one itself; choose another type, such as app.{type}."
            )
        source = self.event_source if source is None else _text("source", source, SOURCE_LIMIT)
        if source == SYSTEM_SOURCE:
            raise InvalidEvent(f"event {type}: the source {source} is Workbell's own; choose another.")
        now = self.store.clock.now()
        behind = current_run.get()
        return Event(
            new_id(),
            self.tenant,
            type,
            source,
            now,
            now,
            subject=None if subject is None else _text("subject", subject, SOURCE_LIMIT),
            data_text=encode(f"event {type}: its data", data),
            key=None if key is None else name("key", key, InvalidEvent),
            depth=0 if behind is None else depth_behind(behind) + 1,
            cause=None if behind is None else behind.id,
        )


def emit_all(client: Emitting, facts: Sequence[Fact], once: OnceTold | None = None) -> list[Event]:
    """Tell many facts in one transaction, all of them or none; where one was told before, it is the first one.

    `once` is the Idempotency-Key that their keys are made of: other facts under it are refused with KeyReused.
    """
    events = [_of_fact(client, fact) for fact in facts]
    added = client.store.events.add(events, once)
    client.nudge()
    known = client.store.events.find([one.id for one in added if not one.created])
    return [
        event if one.created else known.get(one.id, msgspec.structs.replace(event, id=one.id))
        for event, one in zip(events, added, strict=True)
    ]


def _of_fact(client: Emitting, fact: Fact) -> Event:
    *words, time = fact
    event = client._event(*words)
    return event if time is None else msgspec.structs.replace(event, time=aware("time", time))


def source_of(project: str) -> str:
    """The source of what a project emits, where it says nothing else; never Workbell's own."""
    source = f"/{project}"
    return source if source != SYSTEM_SOURCE else f"{source}/app"


def _text(what: str, value: object, limit: int) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value.encode()) <= limit:
        raise InvalidEvent(f"{what}: use a text of printable characters, of 1 to {limit:,} bytes, got {value!r:.60}.")
    return value
