"""Filters on runs in Python: the definition that counts for every store, whatever its database finds first."""

from __future__ import annotations

from workbell.model.ids import first_id_at
from workbell.model.payload_fields import has_fields
from workbell.model.run import Run
from workbell.model.users import user_number
from workbell.stores.port import Filter

NAMES = ("tenant", "job", "queue", "tag", "schedule", "target", "event", "retry_of")


def matches(run: Run, wanted: Filter) -> bool:
    """Whether a run matches by its own fields; not by fields of its input, nor by whether it was retried."""
    return (
        all(getattr(wanted, name) in (None, getattr(run, name)) for name in NAMES)
        and (wanted.user_id is None or user_number(wanted.user_id) == run.user_number)
        and wanted.lane_key in (None, run.lane.key)
        and (not wanted.status or run.status in wanted.status)
        and (wanted.before is None or run.id < wanted.before)
        and (wanted.since is None or run.id >= first_id_at(wanted.since))
        and (wanted.until is None or run.id < first_id_at(wanted.until))
    )


def matches_all(run: Run, wanted: Filter) -> bool:
    return matches(run, wanted) and has_fields(run.input_text, wanted.fields)
