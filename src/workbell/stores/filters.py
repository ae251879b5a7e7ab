"""The one place that composes SQL: lists of runs by filter. Only words from here go into the text, never a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workbell.model.run import FINAL, LIVE
from workbell.stores.port import Filter

COLUMNS = {"tag": "r.tag = :tag", "schedule": "r.schedule = :schedule", "user_id": "r.user_id = :user_id"}
LANE_COLUMNS = {"tenant": "tenant", "job": "job", "queue": "queue", "key": "lane_key"}  # and what the filter calls them
MANY = 1000  # lanes: rather asked for by what they have in common than by their ids


class LaneChoice(NamedTuple):
    """The lanes that a filter is about, as ids; or that they are all there are, or too many to be named."""

    ids: Sequence[int]
    every: bool = False
    many: bool = False


def _asked(wanted: Filter) -> dict[str, Any]:
    return {name: value for name, word in LANE_COLUMNS.items() if (value := getattr(wanted, word)) is not None}


def lanes_wanted(wanted: Filter) -> tuple[str, dict[str, Any]]:
    """The lanes of a filter, up to the number from which on they are many."""
    asked = _asked(wanted)
    where = " AND ".join(f"{name} = :{name}" for name in asked) or "1 = 1"
    return f"SELECT id FROM workbell_lanes WHERE {where} LIMIT :limit", asked | {"limit": MANY}  # noqa: S608


def lanes_beside(wanted: Filter) -> tuple[str, dict[str, Any]]:
    """A lane that is not of a filter, if there is one."""
    asked = _asked(wanted)
    # A lane may have no key at all.
    where = " OR ".join(f"{name} <> :{name}" if name != "key" else "key IS NULL OR key <> :key" for name in asked)
    where = where or "1 = 0"
    return f"SELECT id FROM workbell_lanes WHERE {where} LIMIT :limit", asked | {"limit": 1}  # noqa: S608


def list_query(wanted: Filter, lanes: LaneChoice) -> Iterator[tuple[str, dict[str, Any]]]:
    """The queries that together list what is wanted: one for live runs, one for history.

    Tenant, queue and job are properties of a lane, so they become a short list of lane ids where they can.
    """
    if not lanes.ids and not lanes.many:
        return
    values: dict[str, Any] = {"limit": wanted.limit}
    conditions = []
    if lanes.many:
        asked = _asked(wanted)
        values |= asked
        if asked:
            of_lane = " AND ".join(f"l.{name} = :{name}" for name in asked)
            conditions.append(f"EXISTS (SELECT 1 FROM workbell_lanes l WHERE l.id = r.lane AND {of_lane})")  # noqa: S608
    elif not lanes.every:
        values["lanes"] = list(lanes.ids)
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
        chosen = [status for status in statuses if not wanted.status or status in wanted.status]
        if not chosen:
            continue
        both = list(conditions)
        if len(chosen) < len(statuses):
            # Literals from the enum, so that the partial indexes can be used.
            both.append("r.status IN ({})".format(", ".join(f"'{status.value}'" for status in chosen)))
        where = f"WHERE {' AND '.join(both)} " if both else ""
        yield f"SELECT {columns} FROM {table} r {where}ORDER BY r.id DESC LIMIT :limit", values  # noqa: S608
