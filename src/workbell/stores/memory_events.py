"""Events, triggers and endpoints in dicts: the part of the memory store that is about facts and who hears of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from workbell.errors import KeyReused, WrongConnection
from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import Event, FannedOut, Match, NewEvent, OnceTold, Rematch
from workbell.model.run import Added, NewRun, Run
from workbell.model.trigger import Trigger
from workbell.stores.port import Batch, Pair, Publisher
from workbell.stores.statements import key_reused, new_requests, refuse_other_events

replace = msgspec.structs.replace


class MemoryEvents:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock
    _live: dict[str, Run]
    publisher: Publisher

    def __init__(self) -> None:
        super().__init__()
        self._events: dict[str, Event] = {}
        self._event_keys: dict[tuple[str, str, str], str] = {}
        self._matches: dict[tuple[str, str], Match] = {}
        self._triggers: dict[str, Trigger] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._health: dict[str, Health] = {}
        self._subscriptions = 0

    def _add(self, request: NewRun, ended: list[Pair] | None = None) -> Added:
        raise NotImplementedError

    def wake(self) -> None:
        raise NotImplementedError

    # Events

    def add_events(self, new: Sequence[Event], once: OnceTold | None = None) -> list[Added]:
        with self._lock:
            before = (dict(self._events), dict(self._event_keys)) if once is not None else None
            added = [self._add_event(event) for event in new]
            if once is not None and before is not None:
                try:
                    self._refuse_other([NewEvent(event, once) for event in new], added)
                except KeyReused:
                    self._events, self._event_keys = before
                    raise
        self.wake()
        return added

    def _refuse_other(self, new: Sequence[NewEvent], added: Sequence[Added]) -> None:
        for event, once in new_requests(new, added):
            if (held := self._event_keys.get((event.tenant, event.source, once.beside))) is not None:
                raise key_reused(once.key, f"event {held}")
        refuse_other_events(new, added, self._events)

    def _add_event(self, event: Event) -> Added:
        if event.id in self._events:
            return Added(event.id, False)
        if event.key is not None:
            holder = self._event_keys.setdefault((event.tenant, event.source, event.key), event.id)
            if holder != event.id:
                return Added(holder, False)
        self._events[event.id] = event
        return Added(event.id, True)

    def add_event_on(self, connection: Any, event: Event) -> Added:
        raise WrongConnection("connection=: the memory store has no database; use a sqlite:// or postgresql:// URL.")

    async def aadd_event_on(self, connection: Any, event: Event) -> Added:
        return self.add_event_on(connection, event)

    def waiting_events(self, limit: int) -> list[Event]:
        with self._lock:
            waiting = sorted((e.id, e) for e in self._events.values() if e.fanned_out_at is None)
            return [replace(event, data_text=None) for _, event in waiting[:limit]]

    def fan_out(self, fanned: Sequence[FannedOut], now: datetime) -> set[str]:
        taken: set[str] = set()
        replaced: list[Pair] = []
        with self._lock:
            for one in fanned:
                event = self._events.get(one.event_id)
                if event is None or event.fanned_out_at is not None:
                    continue
                taken.add(event.id)
                self._events[event.id] = replace(event, fanned_out_at=now)
                for request in one.runs:
                    self._add(request, replaced)
                self._matches |= {(match.event, match.subscriber): match for match in one.matches}
        self.publisher.written(replaced)
        return taken

    def add_matched(self, matched: Sequence[Rematch]) -> set[str]:
        made = set()
        with self._lock:
            for request, match, before in matched:
                place = (match.event, match.subscriber)
                known = self._matches.get(place)
                if known is not None and known.run != before:
                    continue
                self._matches[place] = match if known is None else replace(match, created_at=known.created_at)
                if request is not None:
                    self._add(request)
                    made.add(request.run.id)
        self.wake()
        return made

    def _delete_events(self, before: datetime, limit: int) -> int:
        busy = {match.event for match in self._matches.values() if match.run in self._live}
        over = [
            (event.created_at, event.id)
            for event in self._events.values()
            if event.created_at <= before and event.fanned_out_at is not None and event.id not in busy
        ]
        gone = {event_id for _, event_id in sorted(over)[:limit]}
        self._events = {key: event for key, event in self._events.items() if key not in gone}
        self._event_keys = {key: event for key, event in self._event_keys.items() if event not in gone}
        self._matches = {key: match for key, match in self._matches.items() if match.event not in gone}
        return len(gone)

    def find_events(self, ids: Iterable[str]) -> dict[str, Event]:
        with self._lock:
            return {event_id: self._events[event_id] for event_id in ids if event_id in self._events}

    def list_events(self, tenant: str, *, type: str | None, before: str | None, limit: int) -> list[Event]:  # noqa: A002
        with self._lock:
            every = sorted((event.id, event) for event in self._events.values() if event.tenant == tenant)
        found = [e for _, e in reversed(every) if type in (None, e.type) and (before is None or e.id < before)]
        return found[:limit]

    def matches_of_event(self, event: str, *, after: str | None, limit: int) -> list[Match]:
        with self._lock:
            found = [m for m in self._matches.values() if m.event == event and (after is None or m.subscriber > after)]
        return sorted(found, key=lambda match: match.subscriber)[:limit]

    def matches_of_subscriber(self, subscriber: str, *, before: str | None, limit: int) -> list[Match]:
        with self._lock:
            every = [match for match in self._matches.values() if match.subscriber == subscriber]
        found = [match for match in every if before is None or match.event < before]
        return sorted(found, key=lambda match: match.event, reverse=True)[:limit]

    def _load_events(self, batch: Batch) -> None:
        for event in batch.events:
            self._add_event(event)
            if event.fanned_out_at is not None:
                self._settle(event.id, event.fanned_out_at)
        self._matches = {(match.event, match.subscriber): match for match in batch.matches} | self._matches
        for match in batch.matches:
            self._settle(match.event, match.created_at)
        for trigger in batch.triggers:
            if trigger.id not in self._triggers and self._is_free(trigger):
                self._triggers[trigger.id] = trigger
        self._endpoints = {endpoint.id: endpoint for endpoint in batch.endpoints} | self._endpoints
        self._health = {health.endpoint: health for health in batch.health} | self._health
        self._subscriptions += 1

    def _settle(self, event_id: str, at: datetime) -> None:
        """An event that another store has fanned out is not fanned out here as well."""
        event = self._events.get(event_id)
        if event is not None and event.fanned_out_at is None:
            self._events[event_id] = replace(event, fanned_out_at=at)

    # Triggers and endpoints

    def subscriptions_version(self) -> int:
        return self._subscriptions

    def write_trigger(self, trigger: Trigger, expected: int | None) -> bool:
        with self._lock:
            known = self._triggers.get(trigger.id)
            if (None if known is None else known.version) != expected or not self._is_free(trigger):
                return False
            version = 0 if expected is None else expected + 1
            self._triggers[trigger.id] = replace(trigger, version=version)
            self._subscriptions += 1
            return True

    def _is_free(self, trigger: Trigger) -> bool:
        place = (trigger.tenant, trigger.name)
        return all((one.tenant, one.name) != place or one.id == trigger.id for one in self._triggers.values())

    def delete_trigger(self, trigger_id: str, expected: int | None = None) -> bool:
        with self._lock:
            known = self._triggers.get(trigger_id)
            if known is None or expected not in (None, known.version):
                return False
            del self._triggers[trigger_id]
            self._subscriptions += 1
            return True

    def declare_triggers(self, ids: Sequence[str], now: datetime) -> None:
        with self._lock:
            for trigger_id in ids:
                if trigger_id in self._triggers:
                    self._triggers[trigger_id] = replace(self._triggers[trigger_id], declared_at=now)

    def list_triggers(self, tenant: str | None = None) -> list[Trigger]:
        with self._lock:
            found = [trigger for trigger in self._triggers.values() if tenant in (None, trigger.tenant)]
        return sorted(found, key=lambda trigger: (trigger.tenant, trigger.name))

    def write_endpoint(self, endpoint: Endpoint, expected: int | None, emits: Sequence[Event] = ()) -> bool:
        with self._lock:
            known = self._endpoints.get(endpoint.id)
            if (known is None) != (expected is None) or (known is not None and known.version != expected):
                return False
            self._endpoints[endpoint.id] = replace(endpoint, version=0 if expected is None else expected + 1)
            self._subscriptions += 1
            for event in emits:
                self._add_event(event)
            return True

    def delete_endpoint(self, endpoint_id: str) -> bool:
        with self._lock:
            self._health.pop(endpoint_id, None)
            gone = self._endpoints.pop(endpoint_id, None) is not None
            self._subscriptions += gone
            return gone

    def find_endpoint(self, endpoint_id: str) -> Endpoint | None:
        return self._endpoints.get(endpoint_id)

    def list_endpoints(self, tenant: str | None = None) -> list[Endpoint]:
        with self._lock:
            found = [endpoint for endpoint in self._endpoints.values() if tenant in (None, endpoint.tenant)]
        return sorted(found, key=lambda endpoint: endpoint.id)

    def note_delivery(self, endpoint_id: str, succeeded: bool, now: datetime) -> Health:
        with self._lock:
            known = self.find_health(endpoint_id)
            if succeeded:
                new = replace(known, failures=0, failing_since=None, last_success_at=now)
            else:
                since = known.failing_since or now
                new = replace(known, failures=known.failures + 1, failing_since=since, last_failure_at=now)
            self._health[endpoint_id] = new
            return new

    def find_health(self, endpoint_id: str) -> Health:
        return self._health.get(endpoint_id, Health(endpoint_id))

    def failing_endpoints(self, at_least: int) -> list[str]:
        with self._lock:
            return [health.endpoint for health in self._health.values() if health.failures >= at_least]

    def forget_health(self, endpoint_id: str) -> None:
        with self._lock:
            self._health.pop(endpoint_id, None)
