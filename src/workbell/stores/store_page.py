"""Copies of a store: pages of everything that it holds, to be taken over by another one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from workbell.model.access import Token
from workbell.model.agent import Agent
from workbell.model.audit import AuditEntry
from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import Event, Match
from workbell.model.job import Job
from workbell.model.log_line import LogLine
from workbell.model.notification import Notification
from workbell.model.pause import Pause
from workbell.model.run import Attempt, Lane, Run
from workbell.model.schedule import Schedule, Tick
from workbell.model.tally import Tally
from workbell.model.tenant import Tenant
from workbell.model.trigger import Trigger
from workbell.stores.notifications.notifications import ReadMark


class StorePage(NamedTuple):
    """A page of everything a store holds, for copying it to another one."""

    lanes: Sequence[Lane] = ()
    pauses: Sequence[Pause] = ()
    jobs: Sequence[Job] = ()
    schedules: Sequence[Schedule] = ()
    ticks: Sequence[Tick] = ()
    runs: Sequence[Run] = ()
    attempts: Sequence[Attempt] = ()
    logs: Sequence[LogLine] = ()
    keys: Sequence[tuple[str, str, str, datetime | None]] = ()
    events: Sequence[Event] = ()
    matches: Sequence[Match] = ()
    triggers: Sequence[Trigger] = ()
    endpoints: Sequence[Endpoint] = ()
    health: Sequence[Health] = ()
    tokens: Sequence[Token] = ()
    tenants: Sequence[Tenant] = ()
    audit: Sequence[AuditEntry] = ()
    notifications: Sequence[Notification] = ()
    reads: Sequence[ReadMark] = ()
    agents: Sequence[Agent] = ()
    tallies: Sequence[Tally] = ()
