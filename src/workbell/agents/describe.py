"""JSON shapes of agents, handed-out runs and renewed leases in the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from workbell.agents.working import HandedOut, RenewedLease
from workbell.model.agent import Agent
from workbell.model.payload import decode


def describe_agent(agent: Agent, now: datetime) -> dict[str, Any]:
    return {
        "id": agent.id,
        "name": agent.name,
        "tenant": agent.tenant,
        "labels": agent.labels,
        "jobs": agent.jobs,
        "version": agent.version,
        "host": agent.host,
        "metrics": decode(agent.metrics_text),
        "enabled": agent.enabled,
        "alive": agent.is_alive(now),
        "seen_at": agent.seen_at,
        "created_at": agent.created_at,
    }


def describe_handed_out(handed: HandedOut) -> dict[str, Any]:
    """A run as an agent gets it: its input, and the fencing token for its reports."""
    run = handed.run
    return {
        "id": run.id,
        "token": run.token,
        "job": run.job,
        "handler": handed.handler or run.job,
        "input": run.input,
        "attempt": run.attempt,
        "lease_until": run.lease_until,
        "timeout": handed.timeout,
        "cancel": handed.cancel,
        "tenant": run.tenant,
        "queue": run.queue,
        "target": run.target,
        "priority": run.priority,
        "tag": run.tag,
        "user_id": run.user_id,
        "schedule": run.schedule,
        "event": run.event,
        "scheduled_for": run.scheduled_for,
        "created_at": run.created_at,
    }


def describe_lease(lease: RenewedLease) -> dict[str, Any]:
    return {
        "id": lease.run_id,
        "token": lease.token,
        "held": lease.lease_until is not None,
        "lease_until": lease.lease_until,
        "cancel": lease.cancel,
    }
