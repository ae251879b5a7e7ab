"""The one place that composes SQL: runs by filter, to be listed, searched or counted.

Only words from here go into the text, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workbell.model.ids import first_id_at
from workbell.model.run import FINAL, LIVE, Status
from workbell.stores.port import Filter

# Columns of a run. An index leads to the first two in the order of ids, to the others none does.
COLUMNS = {
    "tag": "r.tag = :tag",
    "schedule": "r.schedule = :schedule",
    "user_id": "r.user_id = :user_id",
    "event": "r.event = :event",
}
SCANNED = ("user_id", "event")
# Columns of its lane, and what the filter calls them; a lane may have none of the last two.
LANE_COLUMNS = {"tenant": "tenant", "job": "job", "queue": "queue", "key": "lane_key", "target": "target"}
OPTIONAL = ("key", "target")
# How an engine says that a run is of these lanes: by their index, and without.
OF_LANES, AMONG_LANES = "{lanes}", "{among_lanes}"
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
    where = " OR ".join(
        f"{name} IS NULL OR {name} <> :{name}" if name in OPTIONAL else f"{name} <> :{name}" for name in asked
    )
    where = where or "1 = 0"
    return f"SELECT id FROM workbell_lanes WHERE {where} LIMIT :limit", asked | {"limit": 1}  # noqa: S608


class Parts(NamedTuple):
    """The conditions of a filter on one table: those that an index serves, those that rows are looked at for."""

    table: str
    columns: str
    served: list[str]
    scanned: list[str]
    values: dict[str, Any]

    def where(self, *more: str) -> str:
        conditions = [*self.served, *more]
        return f"WHERE {' AND '.join(conditions)} " if conditions else ""


def parts_of(wanted: Filter, lanes: LaneChoice) -> Iterator[Parts]:
    """A filter on live runs, and on history.

    Tenant, queue and job are properties of a lane, so they become a short list of lane ids where they can.
    """
    if not lanes.ids and not lanes.many:
        return
    values: dict[str, Any] = {}
    served: list[str] = []
    scanned: list[str] = []
    if lanes.many:
        asked = _asked(wanted)
        values |= asked
        if asked:
            of_lane = " AND ".join(f"l.{name} = :{name}" for name in asked)
            served.append(f"EXISTS (SELECT 1 FROM workbell_lanes l WHERE l.id = r.lane AND {of_lane})")  # noqa: S608
    elif not lanes.every:
        values["lanes"] = list(lanes.ids)
        served.append(OF_LANES)
    for name, condition in COLUMNS.items():
        value = getattr(wanted, name)
        if value is not None:
            values[name] = value
            (scanned if name in SCANNED else served).append(condition)
    for name, condition, bound in (
        ("before", "r.id < :before", wanted.before),
        ("until", "r.id < :until", None if wanted.until is None else first_id_at(wanted.until)),
        ("since", "r.id >= :since", None if wanted.since is None else first_id_at(wanted.since)),
    ):
        if bound is not None:
            values[name] = bound
            served.append(condition)
    for table, columns, statuses in (
        ("workbell_runs", "{live}", LIVE),
        ("workbell_history", "{finished}", FINAL),
    ):
        chosen = [status for status in statuses if not wanted.status or status in wanted.status]
        if not chosen:
            continue
        parts = Parts(table, columns, list(served), list(scanned), values)
        if len(chosen) < len(statuses):
            # Literals from the enum, so that the partial indexes can be used. SQLite does so for `=` only, and would
            # also where it then has to sort: so it is said only of statuses that few runs have, or that come sorted.
            literals = ", ".join(f"'{status.value}'" for status in chosen)
            by_index = len(chosen) == 1 and chosen[0] in (Status.FAILED, Status.RUNNING)
            condition = f"r.status = {literals}" if by_index else f"r.status IN ({literals})"
            is_served = table == "workbell_runs" or chosen == [Status.FAILED]
            (parts.served if is_served else parts.scanned).append(condition)
            if chosen == [Status.FAILED] and OF_LANES in parts.served:
                # Failed runs are few: better all of those are looked at than all runs of these lanes.
                parts.served.remove(OF_LANES)
                parts.scanned.append(AMONG_LANES)
        yield parts


def list_query(wanted: Filter, lanes: LaneChoice) -> Iterator[tuple[str, dict[str, Any]]]:
    """The queries that together list what is wanted: one for live runs, one for history."""
    for parts in parts_of(wanted, lanes):
        where, values = parts.where(*parts.scanned), parts.values | {"limit": wanted.limit}
        yield f"SELECT {parts.columns} FROM {parts.table} r {where}ORDER BY r.id DESC LIMIT :limit", values  # noqa: S608


class Look(NamedTuple):
    """How one table is searched. Where rows must be looked at, a look has an end: the last candidate it sees."""

    parts: Parts
    scanned: list[str]
    values: dict[str, Any]

    @property
    def end(self) -> str:
        """Asks for the id of that candidate; there is none if there are fewer."""
        return f"SELECT r.id FROM {self.parts.table} r {self.parts.where()}ORDER BY r.id DESC LIMIT 1 OFFSET :skipped"  # noqa: S608

    def ids(self, *, bounded: bool) -> str:
        return f"SELECT r.id {self._from(bounded)}ORDER BY r.id DESC LIMIT :limit"

    def number(self, *, bounded: bool) -> str:
        return f"SELECT count(*) FROM (SELECT 1 AS one {self._from(bounded)}LIMIT :limit) counted"  # noqa: S608

    def _from(self, bounded: bool) -> str:
        bound = ["r.id >= :end"] if bounded else []
        return f"FROM {self.parts.table} r {self.parts.where(*self.scanned, *bound)}"


def looks(wanted: Filter, lanes: LaneChoice, fields: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Look]:
    """A look for each table; `fields` are conditions on payloads, as the engine spells them, with their values."""
    for parts in parts_of(wanted, lanes):
        values = dict(parts.values)
        for _, more in fields:
            values |= more
        yield Look(parts, [*parts.scanned, *(condition for condition, _ in fields)], values)
