"""Filters on runs as SQL conditions: on live runs, and on history.

Only this module and `search_plans.py`, which combines the conditions, compose SQL. Only words from here go into the
text, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workbell.model.ids import first_id_at
from workbell.model.run import FINAL, LIVE, Status
from workbell.model.users import user_number
from workbell.stores.port import Filter

# Columns of its lane, and what the filter calls them; a lane may have none of the last two.
LANE_COLUMNS = {"tenant": "tenant", "job": "job", "queue": "queue", "key": "lane_key", "target": "target"}
OPTIONAL = ("key", "target")
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
    # Less or greater: unlike `<>`, an index can answer that.
    others = [f"{name} < :{name} OR {name} > :{name}" for name in asked]
    others += [f"{name} IS NULL" for name in OPTIONAL if name in asked]
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
    bounds, ways = list(_bounds(wanted, values)), list[Condition]()
    among, cheap = list[str](), list[str]()
    if wanted.retry_of is not None:
        values["retry_of"] = wanted.retry_of
        text = "CAST(r.retry_of AS text) = CAST(:retry_of AS text)"
        ways.append(Condition("r.retry_of = :retry_of", text))
    if wanted.tag is not None:
        values["tag"] = wanted.tag
        ways.append(Condition("r.tag = :tag", "(r.tag || '') = :tag"))
    if wanted.schedule is not None:
        values["schedule"] = wanted.schedule
        text = "CAST(r.schedule AS text) = CAST(:schedule AS text)"
        ways.append(Condition("r.schedule = :schedule", text))
    costly = [f"r.{name} = :{name}" for name in ("user_id", "event") if getattr(wanted, name) is not None]
    if wanted.user_id is not None:
        values["user_id"] = user_number(wanted.user_id)
    if wanted.event is not None:
        values["event"] = wanted.event
    for condition, more in fields:
        costly.append(condition)
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


def _bounds(wanted: Filter, values: dict[str, Any]) -> Iterator[str]:
    for name, condition, bound in (
        ("before", "r.id < :before", wanted.before),
        ("until", "r.id < :until", None if wanted.until is None else first_id_at(wanted.until)),
        ("since", "r.id >= :since", None if wanted.since is None else first_id_at(wanted.since)),
    ):
        if bound is not None:
            values[name] = bound
            yield condition


def _statuses(wanted: Filter, statuses: Sequence[Status]) -> Iterator[list[str]]:
    """The condition on a table whose runs have these statuses: none if all of them are wanted; nothing if none is."""
    chosen = [status for status in statuses if not wanted.status or status in wanted.status]
    if len(chosen) == len(statuses):
        yield []
    elif len(chosen) == 1 and chosen[0] is not Status.SCHEDULED:
        yield [f"r.status = '{chosen[0].value}'"]
    elif chosen:
        yield [f"r.status IN ({', '.join(f'{status.value!r}' for status in chosen)})"]
