"""Event: a fact that happened, in the words of CloudEvents; and the ledger of what it matched."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from workbell.model.run import NewRun
from workbell.model.unreadable import about, failure_of, value_in_row

SYSTEM_SOURCE = "/workbell"
DEPTH_LIMIT = 8  # of events that cause runs that cause events …


class Event(msgspec.Struct, frozen=True, gc=False):
    """A fact. `key` is the caller's own id: there is one event for each source and key."""

    # The order of these fields is the order of the columns that every store reads: see stores/event_rows.py.
    id: str
    tenant: str
    type: str
    source: str
    time: datetime
    created_at: datetime
    subject: str | None = None
    data_text: str | None = None
    key: str | None = None
    system: bool = False  # emitted by Workbell itself, about a run, a schedule, a worker or an endpoint
    depth: int = 0  # how many events lie behind it, each the cause of the next
    cause: str | None = None  # the run that emitted it, or that it is about
    fanned_out_at: datetime | None = None

    @property
    def data(self) -> Any:
        """Data of the event, as plain JSON values."""
        return value_in_row(f"the data of event {self.id}", self.data_text)

    @property
    def unreadable(self) -> str | None:
        """What the store holds of it that cannot be read, in a sentence; none: all can."""
        error = failure_of(self.data_text)
        return None if error is None else about({"data": error}, "emit it again.")

    def as_dict(self) -> dict[str, Any]:
        """The event in the words of the public API, ready for JSON."""
        from workbell.wire.events import PUBLIC_FIELDS

        failed = {"data"} if self.unreadable else ()
        return {name: None if name in failed else getattr(self, name) for name in PUBLIC_FIELDS}

    def cloud_event(self) -> dict[str, Any]:
        """The event as CloudEvents 1.0 writes it in JSON; `id` is the caller's key, where there is one."""
        fields = {
            "specversion": "1.0",
            "id": self.key or self.id,
            "source": self.source,
            "type": self.type,
            "time": self.time,
            "datacontenttype": "application/json",
            "data": self.data,
        }
        return fields if self.subject is None else fields | {"subject": self.subject}


class EmitKey(NamedTuple):
    """The Idempotency-Key of an HTTP request that emits events; the keys of the events derive from it.

    A single event has the key itself, each of several the key and its number. `beside` is the key that the first event
    would have in the other kind of request: an event under that key means that another request used the key.
    """

    key: str
    beside: str


class NewEvent(NamedTuple):
    """An event to be stored, with the Idempotency-Key of its HTTP request, if there is one."""

    event: Event
    once: EmitKey | None = None


class MatchOutcome(StrEnum):
    """The outcome of a match."""

    STARTED = "started"  # a run was made
    DISABLED = "disabled"  # the trigger or endpoint was switched off
    TOO_DEEP = "too_deep"  # the chain of events causing events is too long


class Match(msgspec.Struct, frozen=True, gc=False):
    """Match of an event with a trigger or an endpoint, and its outcome: one for each pair."""

    event: str
    subscriber: str  # the id of the trigger or endpoint
    outcome: MatchOutcome
    created_at: datetime
    run: str | None = None
    reason: str | None = None


class Rematch(NamedTuple):
    """A run for an event that was matched before: it replaces `before`, if that is still in the ledger.

    Without a request only the ledger changes, and says why there is no run.
    """

    request: NewRun | None
    match: Match
    before: str | None = None


class FannedOut(NamedTuple):
    """The fan-out of one event: written together, if no other process has written it."""

    event_id: str
    matches: tuple[Match, ...] = ()
    runs: tuple[NewRun, ...] = ()
