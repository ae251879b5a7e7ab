"""Parts by their names over verbs of the store itself, until each is a class of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

VERBS = {
    "runs": {
        "add": "add",
        "add_on": "add_on",
        "aadd_on": "aadd_on",
        "dispatch": "dispatch",
        "survey": "survey",
        "survey_targets": "survey_targets",
        "survey_tenant": "survey_tenant",
        "claim": "claim",
        "renew": "renew",
        "take_over": "take_over",
        "apply": "apply",
        "mark_alone": "mark_alone",
        "set_progress": "set_progress",
        "request_cancel": "request_cancel",
        "find": "find_runs",
        "list": "list_runs",
        "attempts": "list_attempts",
        "pending": "pending_of",
        "held_by": "held_by",
        "leases": "leases",
        "expired": "expired",
        "next_due": "next_due",
        "restart_waits": "restart_waits",
    },
    "schedules": {
        "prepare": "prepare_schedules",
        "write": "write_schedules",
        "delete": "delete_schedule",
        "due": "due_schedules",
        "next_look": "next_look",
        "find": "find_schedules",
        "get": "find_schedule",
        "list": "list_schedules",
        "ticks": "list_ticks",
    },
    "events": {
        "add": "add_events",
        "add_on": "add_event_on",
        "aadd_on": "aadd_event_on",
        "waiting": "waiting_events",
        "fan_out": "fan_out",
        "rematch": "add_matched",
        "find": "find_events",
        "list": "list_events",
        "matches": "matches_of_event",
        "matches_of_subscriber": "matches_of_subscriber",
    },
    "reports": {
        "search": "search_runs",
        "count": "count_runs",
        "recent": "recent_runs",
        "counts": "counts",
        "ahead_of": "ahead_of",
        "retries": "find_retries",
        "upcoming": "upcoming_schedules",
        "broken": "broken_schedules",
        "waiting_targets": "waiting_targets",
    },
    "limits": {"uses": "limit_uses"},
}


def add_flat_parts(store: Any) -> None:
    for part, verbs in VERBS.items():
        setattr(store, part, SimpleNamespace(**{verb: getattr(store, flat) for verb, flat in verbs.items()}))
