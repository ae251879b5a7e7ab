"""Finds an event by its id, or by the beginning or end of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.cli.bell import AnyClient, of_tenant
from workbell.cli.runs.find import SHORTEST
from workbell.errors import EventNotFound, InvalidOption
from workbell.model.event import Event
from workbell.model.ids import is_id
from workbell.runs.filters import PAGE

Command = TypeVar("Command", bound=Callable[..., Any])


def event_argument(command: Command) -> Command:
    return click.argument("event_id", metavar="ID")(command)


def event_cursor(bell: AnyClient, text: str) -> str:
    """The id that a page of events goes on from. A whole one is a place in the list, also of an event that was
    removed."""
    part = text.strip().lower()
    return part if is_id(part) else find_event(bell, part).id


def find_event(bell: AnyClient, text: str) -> Event:
    """A part of an id is searched among the last events only: no store has an index for it."""
    part = text.strip().lower()
    if is_id(part):
        return bell.events.get(part)
    if len(part) < SHORTEST:
        raise EventNotFound(f"There is no event {text!r}; give its id, or at least {SHORTEST} letters of it.")
    found = [event for event in bell.events.list(limit=PAGE) if event.id.endswith(part) or event.id.startswith(part)]
    if not found:
        among = f"the last {PAGE:,} {of_tenant(bell)}"
        raise EventNotFound(f"There is no event {text!r} among {among}; an older one needs its whole id.")
    if len(found) > 1:
        listed = ", ".join(event.id for event in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0]
