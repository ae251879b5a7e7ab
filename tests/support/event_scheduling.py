"""Fanning out in tests: schedulers that look when told to, events by number, and what the checker says of it all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbell import Workbell
from workbell.engine.match_events import MatchEvents
from workbell.events.subscriptions import Subscriptions
from workbell.handlers.registry import Registry
from workbell.model.event import Event
from workbell.stores.port import Store

from .event_checker import check_fan_out, facts
from .event_triggers import type_of


def scheduler(store: Any, registry: Registry | None = None) -> MatchEvents:
    return MatchEvents(store, registry or Registry(), Subscriptions(lambda: store), lambda _: None, 1.0)


def emit(store: Store, *numbers: int) -> list[Event]:
    bell = Workbell(store=store)
    return [bell.emit(type_of(number), {"number": number}) for number in numbers]


def look(store: Store, duty: MatchEvents | None = None) -> MatchEvents:
    """Fan out everything that waits."""
    duty = duty or scheduler(store)
    while duty.fan_out_waiting(store.clock.now()):
        pass
    return duty


def found(store: Store, hearers: Mapping[str, set[str]]) -> set[str]:
    """The rules that are broken."""
    return {violation.rule for violation in check_fan_out(facts(store), hearers)}
