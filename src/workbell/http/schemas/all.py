"""The bodies that routes read by themselves: the OpenAPI page would not find them otherwise."""

from __future__ import annotations

from pydantic import BaseModel

from workbell.http.schemas.events import CloudEvent, NewEvent, NewEvents
from workbell.http.schemas.runs import NewRun, NewRuns

BODIES: list[type[BaseModel]] = [NewRun, NewRuns, NewEvent, NewEvents, CloudEvent]
