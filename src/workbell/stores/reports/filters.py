"""Filters on runs as conditions: in SQL, on live runs and on history; and which field of a run each word is about.

Only this module and `search_plans.py`, which combines the conditions, compose SQL. Only words from here go into the
text, never a value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from workbell.model.ids import first_id_at
from workbell.model.run import FINAL, LIVE, Status
from workbell.model.users import user_number
from workbell.stores.port import Filter

# Placeholders for "the run is of these lanes": with the index of lanes, and without.
OF_LANES, AMONG_LANES = "{lanes}", "{among_lanes}"
SEARCH = "search"  # the name of statements that are composed; their answers are ids or runs
MANY = 1000  # lanes: above this, conditions on their columns instead of a list of ids
# Ends that few runs have, so that they have an index of their own.
RARE = (Status.FAILED, Status.CANCELED)
# Two index lookups for each run. Not EXISTS, of which PostgreSQL may make a join or a hash of all.
RETRY = (
    "coalesce((SELECT 1 FROM workbell_runs again WHERE again.retry_of = r.id LIMIT 1),"
    " (SELECT 1 FROM workbell_history again WHERE again.retry_of = r.id LIMIT 1))"
)


class Use(Enum):
    """How a condition helps to find runs."""

    LANE = auto()  # by a column of their lane: it chooses lanes
    BOUND = auto()  # by the order of ids
    ID_INDEX = auto()  # by the index of a column with ids, in the order of the runs' own
    TEXT_INDEX = auto()  # by the index of a column with texts, in that order too
    ROW = auto()  # by no index: it is checked on the rows that the others lead to


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}
# Forms of a condition that keep the planner from its index.
HIDDEN = {
    Use.ID_INDEX: "CAST(r.{column} AS text) = CAST(:{word} AS text)",
    Use.TEXT_INDEX: "(r.{column} || '') = :{word}",
}


def _same(value: Any) -> Any:
    return value


class WordCondition(NamedTuple):
    """The column that a word of a filter is compared with, and how."""

    use: Use
    column: str
    comparison: str = "="
    value: Callable[[Any], Any] = _same  # as the column has it
    field: str | None = None  # of `Run`, by a dotted path; none: that with the name of the column
    optional: bool = False  # whether a lane may have none


# By the names in `Filter`. Not here: `status` chooses tables, `retried` is about other runs, `input` about many fields.
CONDITIONS = {
    "tenant": WordCondition(Use.LANE, "tenant"),
    "job": WordCondition(Use.LANE, "job"),
    "queue": WordCondition(Use.LANE, "queue"),
    "lane_key": WordCondition(Use.LANE, "key", field="lane.key", optional=True),
    "target": WordCondition(Use.LANE, "target", optional=True),
    "before": WordCondition(Use.BOUND, "id", "<"),
    "until": WordCondition(Use.BOUND, "id", "<", first_id_at),
    "since": WordCondition(Use.BOUND, "id", ">=", first_id_at),
    "retry_of": WordCondition(Use.ID_INDEX, "retry_of"),
    "tag": WordCondition(Use.TEXT_INDEX, "tag"),
    "schedule": WordCondition(Use.ID_INDEX, "schedule"),
    "user_id": WordCondition(Use.ROW, "user_id", value=user_number, field="user_number"),
    "event": WordCondition(Use.ROW, "event"),
}


def columns_of(*uses: Use) -> list[str]:
    """The columns of conditions of some uses."""
    return [condition.column for condition in CONDITIONS.values() if condition.use in uses]


def conditions_of(wanted: Filter, *uses: Use) -> Iterator[tuple[str, WordCondition, Any]]:
    """The conditions of a filter, of some uses or of all: each with its word and its value."""
    for word, condition in CONDITIONS.items():
        given = getattr(wanted, word)
        if given is not None and (not uses or condition.use in uses):
            yield word, condition, condition.value(given)


class LaneChoice(NamedTuple):
    """The lanes that a filter is about, as ids; or that they are all there are, or too many to be named."""

    ids: Sequence[int]
    every: bool = False
    many: bool = False


def _asked(wanted: Filter) -> dict[str, Any]:
    return {condition.column: value for _, condition, value in conditions_of(wanted, Use.LANE)}


def lanes_wanted(wanted: Filter) -> tuple[str, dict[str, Any]]:
    """The lanes of a filter, up to the number from which on they are many."""
    asked = _asked(wanted)
    where = " AND ".join(f"{name} = :{name}" for name in asked) or "1 = 1"
    return f"SELECT id FROM workbell_lanes WHERE {where} LIMIT :limit", asked | {"limit": MANY}  # noqa: S608


def lanes_beside(wanted: Filter) -> tuple[str, dict[str, Any]]:
    """A lane that is not of a filter, if there is one."""
    asked = _asked(wanted)
    # Less or greater: unlike `<>`, an index can answer that.
    others = [f"{name} < :{name} OR {name} > :{name}" for name in asked]
    others += [f"{one.column} IS NULL" for _, one, _ in conditions_of(wanted, Use.LANE) if one.optional]
    where = " OR ".join(others) or "1 = 0"
    return f"SELECT id FROM workbell_lanes WHERE {where} LIMIT :limit", asked | {"limit": 1}  # noqa: S608


class Condition(NamedTuple):
    """A condition that an index serves in the order of ids, and a form of it that keeps the planner from that index."""

    served: str
    hidden: str


class Stream(NamedTuple):
    """The runs of one table that a filter means.

    `bounds` are those of ids, and `ways` the conditions with an index, each of which can lead to the runs. What
    is `cheap` can be checked on every row, what is `costly` (fields of the input) only on so many.
    """

    table: str
    columns: str
    bounds: Sequence[str]
    ways: Sequence[Condition]
    cheap: Sequence[str]
    costly: Sequence[str]
    values: dict[str, Any]

    @property
    def live(self) -> bool:
        return self.table == "workbell_runs"


def streams_of(
    wanted: Filter, lanes: LaneChoice, fields: Sequence[tuple[str, dict[str, Any]]] = ()
) -> Iterator[Stream]:
    """A filter on live runs, and on history; `fields` are conditions on inputs, in the engine's SQL.

    Tenant, queue and job are properties of a lane, so they become a short list of lane ids where they can.
    """
    if not (lanes.ids or lanes.many or lanes.every):
        return
    values: dict[str, Any] = {}
    bounds, ways = list[str](), list[Condition]()
    among, cheap, costly = list[str](), list[str](), list[str]()
    for word, condition, value in conditions_of(wanted, Use.BOUND, Use.ID_INDEX, Use.TEXT_INDEX, Use.ROW):
        values[word] = value
        served = f"r.{condition.column} {condition.comparison} :{word}"
        if condition.use in HIDDEN:
            ways.append(Condition(served, HIDDEN[condition.use].format(column=condition.column, word=word)))
        else:
            (bounds if condition.use is Use.BOUND else costly).append(served)
    for text, more in fields:
        costly.append(text)
        values |= more
    if lanes.every:
        pass
    elif lanes.many:
        values |= _asked(wanted)
        all_of_them, each = _lanes_described(wanted)
        among.append(all_of_them)
        cheap.append(each)
    elif len(lanes.ids) == 1:
        values["lane"] = lanes.ids[0]
        ways.append(Condition("r.lane = :lane", "(r.lane + 0) = :lane"))
    else:
        values["lanes"] = list(lanes.ids)
        ways.append(Condition(OF_LANES, AMONG_LANES))
    # Only what has ended is retried.
    for statuses in () if wanted.retried else _statuses(wanted, LIVE):
        # A literal from the enum, so that a partial index can serve. SQLite has that only for `=`, and would use
        # the one of scheduled runs too, with a lookup for each of them.
        yield Stream("workbell_runs", "{live}", bounds, ways, [*among, *statuses], costly, values)
    if wanted.retried is not None:
        costly.append(f"{RETRY} IS {'NOT NULL' if wanted.retried else 'NULL'}")
    rare = [status for status in RARE if status in wanted.status]
    if Status.SUCCEEDED in wanted.status or not rare:
        for statuses in _statuses(wanted, FINAL):
            hidden = [text.replace("r.status", "(r.status || '')") for text in statuses]
            yield Stream("workbell_history", "{finished}", bounds, ways, [*cheap, *hidden], costly, values)
        return
    for status in rare:
        own = Condition(f"r.status = '{status.value}'", f"(r.status || '') = '{status.value}'")
        yield Stream("workbell_history", "{finished}", bounds, [*ways, own], cheap, costly, values)


def _lanes_described(wanted: Filter) -> tuple[str, str]:
    """The condition on the lane of a run: for a scan of all runs, where these lanes are read once, and for some runs.

    Neither lets a planner join and then sort. The second goes by the id only: else all lanes of the job would be read
    for each run (2 s for 2,000 runs). For 100,000 runs the first takes 40 ms, the second would take 330.
    """
    asked = _asked(wanted)
    listed = " AND ".join(f"l.{name} = :{name}" for name in asked)
    hidden = " AND ".join(f"(l.{name} || '') = :{name}" for name in asked)
    return (
        f"(r.lane IN (SELECT l.id FROM workbell_lanes l WHERE {listed})) IS TRUE",  # noqa: S608
        f"(SELECT 1 FROM workbell_lanes l WHERE l.id = r.lane AND {hidden}) IS NOT NULL",  # noqa: S608
    )


def _statuses(wanted: Filter, statuses: Sequence[Status]) -> Iterator[list[str]]:
    """The condition on a table whose runs have these statuses: none if all of them are wanted; nothing if none is."""
    chosen = [status for status in statuses if not wanted.status or status in wanted.status]
    if len(chosen) == len(statuses):
        yield []
    elif len(chosen) == 1 and chosen[0] is not Status.SCHEDULED:
        yield [f"r.status = '{chosen[0].value}'"]
    elif chosen:
        yield [f"r.status IN ({', '.join(f'{status.value!r}' for status in chosen)})"]
