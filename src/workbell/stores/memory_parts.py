"""The parts of the memory store, by the names that parts have elsewhere, until it has the core alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

VERBS = {
    "logs": {"add": "add_logs", "list": "list_logs"},
    "pauses": {"list": "list_pauses", "add": "pause", "remove": "resume"},
    "workers": {
        "put": "put_worker",
        "see": "see_workers",
        "remove": "remove_workers",
        "drain": "drain_worker",
        "note_drained": "note_drained",
        "resume": "resume_worker",
        "find": "find_worker",
        "list": "list_workers",
    },
    "services": {"put": "note_service", "remove": "forget_services", "list": "list_services"},
    "tokens": {
        "add": "add_token",
        "find": "find_token",
        "list": "list_tokens",
        "redeem": "redeem_token",
        "revoke": "revoke_tokens",
        "see": "see_tokens",
    },
    "tenants": {"put": "put_tenant", "delete": "delete_tenant", "list": "list_tenants", "known": "known_tenants"},
    "audit": {"add": "add_audit", "list": "list_audit"},
    "answers": {"take": "remember", "put": "answer", "remove": "forget"},
    "notifications": {
        "add": "add_notifications",
        "list": "list_notifications",
        "new": "new_notifications",
        "mark_read": "mark_read",
    },
    "agents": {
        "put": "put_agent",
        "see": "see_agent",
        "find": "find_agent",
        "list": "list_agents",
        "delete": "delete_agent",
    },
    "tallies": {"add": "add_tallies", "list": "list_tallies", "sum": "sum_tallies", "totals": "total_tallies"},
    "jobs": {"put": "put_jobs", "find": "find_job", "list": "list_jobs"},
    "subscribers": {
        "write_trigger": "write_trigger",
        "delete_trigger": "delete_trigger",
        "declare_triggers": "declare_triggers",
        "list_triggers": "list_triggers",
        "write_endpoint": "write_endpoint",
        "delete_endpoint": "delete_endpoint",
        "find_endpoint": "find_endpoint",
        "list_endpoints": "list_endpoints",
        "note_delivery": "note_delivery",
        "find_health": "find_health",
        "failing_endpoints": "failing_endpoints",
        "forget_health": "forget_health",
        "version": "subscriptions_version",
    },
}


def add_parts(store: Any) -> None:
    for part, verbs in VERBS.items():
        setattr(store, part, SimpleNamespace(**{verb: getattr(store, flat) for verb, flat in verbs.items()}))
