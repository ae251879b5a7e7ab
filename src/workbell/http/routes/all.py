"""Handlers of all operations."""

from __future__ import annotations

from workbell.http.framework.operations import ServedOperation
from workbell.http.routes import (
    agents,
    audit,
    bulk,
    doctor,
    events,
    executions,
    files,
    jobs,
    notifications,
    queues,
    recent,
    rounds,
    runs,
    schedules,
    session,
    sockets,
    tallies,
    tenants,
    tokens,
    triggers,
    webhooks,
    workers,
)

SERVED: list[ServedOperation] = [
    *runs.served,
    *bulk.served,
    *events.served,
    *jobs.served,
    *schedules.served,
    *agents.served,
    *tokens.served,
    *tenants.served,
    *audit.served,
    *notifications.served,
    *session.served,
    *sockets.served,
    *triggers.served,
    *executions.served,
    *webhooks.served,
    *queues.served,
    *workers.served,
    *rounds.served,
    *files.served,
    *tallies.served,
    *recent.served,
    *doctor.served,
]
