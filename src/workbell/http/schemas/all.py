"""The bodies that routes read by themselves: the OpenAPI page would not find them otherwise."""

from __future__ import annotations

from pydantic import BaseModel

from workbell.http.schemas.events import CloudEvent, EventBody, NewEvents
from workbell.http.schemas.runs import NewRuns, RunBody

BODIES: list[type[BaseModel]] = [RunBody, NewRuns, EventBody, NewEvents, CloudEvent]
