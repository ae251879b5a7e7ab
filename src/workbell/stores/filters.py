"""The one place that composes SQL: lists of runs by filter. Only words from here go into the text, never a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbell.model.run import FINAL, LIVE, Lane
from workbell.stores.port import Filter

COLUMNS = {"tag": "r.tag = :tag", "schedule": "r.schedule = :schedule", "user_id": "r.user_id = :user_id"}


def list_query(wanted: Filter, lanes: Sequence[Lane]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The queries that together list what is wanted: one for live runs, one for history.

    Tenant, queue and job are properties of a lane, so they become a short list of lane ids.
    """
    chosen = [
        lane.id
        for lane in lanes
        if (wanted.tenant is None or lane.tenant == wanted.tenant)
        and (wanted.job is None or lane.job == wanted.job)
        and (wanted.queue is None or lane.queue == wanted.queue)
    ]
    if not chosen:
        return
    values: dict[str, Any] = {"limit": wanted.limit}
    conditions = []
    if len(chosen) < len(lanes):
        values["lanes"] = chosen
        conditions.append("{lanes}")
    for name, condition in COLUMNS.items():
        value = getattr(wanted, name)
        if value is not None:
            values[name] = value
            conditions.append(condition)
    if wanted.before is not None:
        values["before"] = wanted.before
        conditions.append("r.id < :before")
    for table, columns, statuses in (
        ("workbell_runs", "{live}", LIVE),
        ("workbell_history", "{finished}", FINAL),
    ):
        asked = [status for status in statuses if not wanted.status or status in wanted.status]
        if not asked:
            continue
        both = list(conditions)
        if len(asked) < len(statuses):
            # Literals from the enum, so that the partial indexes can be used.
            both.append("r.status IN ({})".format(", ".join(f"'{status.value}'" for status in asked)))
        where = f"WHERE {' AND '.join(both)} " if both else ""
        yield f"SELECT {columns} FROM {table} r {where}ORDER BY r.id DESC LIMIT :limit", values  # noqa: S608
