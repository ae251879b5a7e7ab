"""Emitting events: `bell.emit("posts.created", {...})` stores an event; a scheduler fans it out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from workbell.errors import InvalidEvent
from workbell.handlers.current_run import current_run, depth_behind
from workbell.model.clock import aware
from workbell.model.event import SYSTEM_SOURCE, EmitKey, Event
from workbell.model.ids import new_id
from workbell.model.job import name
from workbell.model.json_text import encode
from workbell.model.patterns import check_type
from workbell.model.run import Added
from workbell.model.system_events import SYSTEM_TYPES
from workbell.runs.runtime import Runtime

SOURCE_LIMIT = 1024  # bytes: with a key and a tenant it has to fit into one row of an index of PostgreSQL


class Fact(NamedTuple):
    """An event to be emitted; `time` is when it happened, if that was not just now."""

    type: str
    data: Any = None
    subject: str | None = None
    source: str | None = None
    key: str | None = None
    time: datetime | None = None


class Emitter:
    """Emits events for one tenant: `bell.emit`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

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
        """Emit an event: `bell.emit("posts.created", {"id": 7})`; every trigger that matches it starts one run.

        Of events with one `source` and `key` there is one: emitted again, you get the first one. With
        `connection=` it exists if and when the caller's own transaction commits.
        """
        event = self._event(type, data, subject, source, key)
        self._runtime.store.check(joining=connection is not None)
        if connection is None:
            added = self._runtime.store.events.add([event])[0]
            self._runtime.wake()
        else:
            added = self._runtime.store.events.add_on(connection, event)
        return event if added.created else self._first_emitted(event, added)

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
            hop = self._runtime.hop if key is None else self._runtime.hop_apart
            return await hop(lambda: self.emit(type, data, subject=subject, source=source, key=key))
        event = self._event(type, data, subject, source, key)
        await self._runtime.hop(lambda: self._runtime.store.check(joining=True))
        added = await self._runtime.store.events.aadd_on(connection, event)
        return event if added.created else await self._runtime.hop(lambda: self._first_emitted(event, added))

    def _first_emitted(self, event: Event, added: Added) -> Event:
        # In a caller's transaction the first one may not be visible to us yet; its id is what counts.
        known = msgspec.structs.replace(event, id=added.id)
        return self._runtime.store.events.find([added.id]).get(added.id, known)

    def _event(self, type: str, data: Any, subject: str | None, source: str | None, key: str | None) -> Event:  # noqa: A002
        if check_type(type) in SYSTEM_TYPES:
            raise InvalidEvent(
                f"event {type}: Workbell emits this one itself; choose another type, such as app.{type}."
            )
        source = self._runtime.event_source if source is None else _text("source", source, SOURCE_LIMIT)
        if source == SYSTEM_SOURCE:
            raise InvalidEvent(f"event {type}: the source {source} is Workbell's own; choose another.")
        now = self._runtime.store.clock.now()
        behind = current_run.get()
        return Event(
            new_id(),
            self._runtime.tenant,
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

    def emit_all(self, facts: Sequence[Fact], once: EmitKey | None = None) -> list[Event]:
        """Emit many events in one transaction, all of them or none; where one was emitted before, it is the first one.

        `once` is the Idempotency-Key that their keys are made of: other facts under it are refused with KeyReused.
        """
        events = [self._of_fact(fact) for fact in facts]
        store = self._runtime.store
        added = store.events.add(events, once)
        self._runtime.wake()
        known = store.events.find([one.id for one in added if not one.created])
        return [
            event if one.created else known.get(one.id, msgspec.structs.replace(event, id=one.id))
            for event, one in zip(events, added, strict=True)
        ]

    def _of_fact(self, fact: Fact) -> Event:
        *words, time = fact
        event = self._event(*words)
        return event if time is None else msgspec.structs.replace(event, time=aware("time", time))


def _text(what: str, value: object, limit: int) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value.encode()) <= limit:
        raise InvalidEvent(f"{what}: use a text of printable characters, of 1 to {limit:,} bytes, got {value!r:.60}.")
    return value
