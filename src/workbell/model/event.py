"""An event: a fact that happened, in the words of CloudEvents; and the ledger of what it matched."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from workbell.model.payload import decode
from workbell.model.run import NewRun

SYSTEM_SOURCE = "/workbell"
DEPTH_LIMIT = 8  # of events that cause runs that cause events …


class Event(msgspec.Struct, frozen=True, gc=False):
    """A fact. `key` is what the caller knows it by: of events with one source and key there is one."""

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
    system: bool = False  # told by Workbell itself, about a run, a schedule, a worker or an endpoint
    depth: int = 0  # how many events lie behind it, each the cause of the next
    cause: str | None = None  # the run that emitted it, or that it is about
    fanned_out_at: datetime | None = None

    @property
    def data(self) -> Any:
        """What the event carries, as plain JSON values."""
        return decode(self.data_text)

    def as_dict(self) -> dict[str, Any]:
        """The event in the words of the public API, ready for JSON."""
        return {name: getattr(self, name) for name in PUBLIC_FIELDS}

    def cloud_event(self) -> dict[str, Any]:
        """The event as CloudEvents 1.0 writes it in JSON; `id` is the caller's key, where there is one."""
        told = {
            "specversion": "1.0",
            "id": self.key or self.id,
            "source": self.source,
            "type": self.type,
            "time": self.time,
            "datacontenttype": "application/json",
            "data": self.data,
        }
        return told if self.subject is None else told | {"subject": self.subject}


class OnceTold(NamedTuple):
    """The Idempotency-Key of an HTTP request that tells events, whose keys are made of it.

    One event has the key itself, of many each has its number behind it. `beside` is the key that the first event of the
    other kind of request would have: one of them under the same key is another request.
    """

    key: str
    beside: str


class NewEvent(NamedTuple):
    """An event to be stored, and the HTTP request that tells it, if that has an Idempotency-Key."""

    event: Event
    once: OnceTold | None = None


PUBLIC_FIELDS = ("id type source subject time data key tenant system depth cause created_at fanned_out_at").split()


class MatchOutcome(StrEnum):
    """What became of an event that matched."""

    STARTED = "started"  # a run was made
    DISABLED = "disabled"  # the trigger or endpoint was switched off
    TOO_DEEP = "too_deep"  # the chain of events causing events is too long


class Match(msgspec.Struct, frozen=True, gc=False):
    """That an event matched a trigger or an endpoint, and what came of it: once for each pair."""

    event: str
    subscriber: str  # the id of the trigger or endpoint
    outcome: MatchOutcome
    created_at: datetime
    run: str | None = None
    reason: str | None = None


class Rematch(NamedTuple):
    """A run for an event that was matched before: it takes the place of `before`, if that is still in the ledger.

    Without a request it is the place alone, that says why there is no run.
    """

    request: NewRun | None
    match: Match
    before: str | None = None


class FannedOut(NamedTuple):
    """All that follows from one event: written together, if nobody else has written it."""

    event_id: str
    matches: tuple[Match, ...] = ()
    runs: tuple[NewRun, ...] = ()
