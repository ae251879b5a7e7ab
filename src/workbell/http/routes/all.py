"""Every route. The most frequent ones come first: a path is compared with one after the other."""

from __future__ import annotations

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

ROUTES = [
    bulk.routes,  # before the runs, for /runs/count
    runs.routes,
    events.routes,
    jobs.routes,
    schedules.routes,
    agents.routes,
    tokens.routes,
    tenants.routes,
    audit.routes,
    notifications.routes,
    session.routes,
    sockets.routes,
    triggers.routes,
    executions.routes,
    webhooks.routes,
    queues.routes,
    workers.routes,
    rounds.routes,
    files.routes,
    tallies.routes,
    recent.routes,
    doctor.routes,
]
