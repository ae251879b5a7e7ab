"""Table of all operations of the API."""

from __future__ import annotations

from typing import Any

from workbell.wire import (
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
from workbell.wire.operation import Operation, Operations

RESOURCES: list[Operations] = [
    runs.operations,
    bulk.operations,
    events.operations,
    jobs.operations,
    schedules.operations,
    agents.operations,
    tokens.operations,
    tenants.operations,
    audit.operations,
    notifications.operations,
    session.operations,
    sockets.operations,
    triggers.operations,
    executions.operations,
    webhooks.operations,
    queues.operations,
    workers.operations,
    rounds.operations,
    files.operations,
    tallies.operations,
    recent.operations,
    doctor.operations,
]
OPERATIONS: list[Operation[Any]] = [operation for resource in RESOURCES for operation in resource]
BY_VERB: dict[str, Operation[Any]] = {operation.verb or operation.name: operation for operation in OPERATIONS}
