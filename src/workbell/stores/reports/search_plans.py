"""Search plans: the statements that find the runs of a filter, newest first, whatever the planner prefers.

Ids are in the order of time, so an index that leads to what is wanted in their order is read from its end, and no
further than needed. Planners do not see it like that: with a LIMIT they may trust in a common value being everywhere,
and without statistics (a fresh PostgreSQL table, SQLite always) they guess. Tried with a million finished and 100,000
waiting runs (benchmarks/dashboard.py), in ms of computing:

* History by several lanes: neither database merges ranges of an index. The newest of each lane, and of these the
  newest (SQLite): 0.6 for 12 lanes, 18 for a thousand. As a UNION ALL of the lanes: 1.9 for 12.
* History by two things that have an index each: a common tag of a small job took 285 on SQLite. Each index is asked how
  far back its first so many runs reach, and the one that reaches furthest leads to the fewest: 35.
* PostgreSQL, a million rows just loaded: for a page of a job it sorted all runs of it, and answered after 400 to 1,700
  on a busy machine. With nothing but indexes in their order left to it, no request computes for more than 130.
* Live runs by job or status: no index has them in order, it would cost at every enqueue, claim and end. One by one
  along the ids it was 57 on SQLite. The newest FIRST are read (1.5), which is enough for common values; only then are
  all of them read, in table order (20 to 30).
* Conditions that need each run's row are checked on so many, behind a fence: PostgreSQL would check fields of inputs
  first, and then the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from workbell.stores.database import Row
from workbell.stores.reports.filters import OF_LANES, Stream, Use, columns_of

FIRST = 2000  # live runs that are read before all are
COSTLY_COLUMNS = (*columns_of(Use.ROW), "input")  # columns of the costly conditions
# Columns of the others.
CHEAP_COLUMNS = ", ".join(f"r.{name}" for name in ("id", "lane", "status", *columns_of(Use.ID_INDEX, Use.TEXT_INDEX)))

Ask = Callable[[str, dict[str, Any]], Sequence[Row]]
Merge = Callable[[str], str]


class StreamStatements(NamedTuple):
    """The statements for one stream. `first` mostly finds enough; `end` is the oldest run that is read."""

    stream: Stream
    ids: str
    number: str
    values: dict[str, Any]
    first: str | None = None
    end: str | None = None


def choose(stream: Stream, ask: Ask, merge: Merge, probe: int, *, bounded: bool) -> StreamStatements:
    """The statements for a stream; if bounded, they read no more than `probe` runs that no index leads to."""
    return (_live if stream.live else _ended)(stream, ask, merge, probe, bounded)


def _where(*conditions: Iterable[str]) -> str:
    listed = [condition for part in conditions for condition in part]
    return f"WHERE {' AND '.join(listed)} " if listed else ""


def _from(stream: Stream, *conditions: Iterable[str]) -> str:
    return f"FROM {stream.table} r {_where(stream.bounds, *conditions)}"


def _newest(rows: str, what: str = "r.id", limit: str = ":limit") -> str:
    return f"SELECT {what} {rows}ORDER BY r.id DESC LIMIT {limit}"


def _number(rows: str) -> str:
    return f"SELECT count(*) FROM (SELECT 1 AS one {rows}LIMIT :limit) counted"  # noqa: S608


def _sorted(rows: str, columns: str = "r.id", condition: str = "") -> str:
    """All that there are, and then the newest: what is within the parentheses knows nothing of the order."""
    return f"WITH r AS MATERIALIZED (SELECT {columns} {rows}) {_newest(f'FROM r {condition}')}"


# Live runs


def _live(stream: Stream, ask: Ask, _merge: Merge, probe: int, bounded: bool) -> StreamStatements:
    conditions = [*(way.served for way in stream.ways), *stream.cheap]
    if stream.costly:
        return _live_costly(stream, conditions, ask, probe, bounded)
    rows = _from(stream, conditions)
    if not conditions:
        return StreamStatements(stream, _newest(rows), _number(rows), stream.values)
    first = None
    if "r.status = 'running'" not in stream.cheap:  # of which there are few, and they have an index
        newest = _newest(_from(stream), CHEAP_COLUMNS, str(FIRST))
        first = _newest(f"FROM ({newest}) r {_where(conditions)}")
    return StreamStatements(stream, _sorted(rows), _number(rows), stream.values, first)


def _live_costly(stream: Stream, conditions: Sequence[str], ask: Ask, probe: int, bounded: bool) -> StreamStatements:
    """If the cheap conditions leave few enough runs, all of these are read; else the newest, whatever they are."""
    skipped = f"1 OFFSET {probe - 1}"
    if conditions and not ask(f"SELECT 1 {_from(stream, conditions)}LIMIT {skipped}", stream.values):
        # Costly conditions stand behind a fence, so that they are not checked on rows that the others exclude.
        columns = ", ".join(
            ["r.id", *(f"r.{name}" for name in COSTLY_COLUMNS if f"r.{name}" in " ".join(stream.costly))]
        )
        rows, condition = _from(stream, conditions), _where(stream.costly)
        number = f"WITH r AS MATERIALIZED (SELECT {columns} {rows}) {_number(f'FROM r {condition}')}"
        return StreamStatements(stream, _sorted(rows, columns, condition), number, stream.values)
    end = ask(_newest(_from(stream), limit=skipped), stream.values) if bounded else []
    hidden = [*(way.hidden for way in stream.ways), *stream.cheap, *stream.costly]
    return _up_to(stream, end[0][0] if end else None, hidden)


def _up_to(stream: Stream, end: str | None, conditions: Sequence[str]) -> StreamStatements:
    """In the order of ids, to the end if there is one."""
    rows = _from(stream, [] if end is None else ["r.id >= :end"], conditions)
    values = stream.values if end is None else stream.values | {"end": end}
    return StreamStatements(stream, _newest(rows), _number(rows), values, end=end)


# History


def _ended(stream: Stream, ask: Ask, merge: Merge, probe: int, bounded: bool) -> StreamStatements:
    other = [*stream.cheap, *stream.costly]
    if not other and len(stream.ways) <= 1:
        rows = _from(stream, (way.served for way in stream.ways))
        if stream.ways and stream.ways[0].served == OF_LANES:
            each = _newest(_from(stream, ["r.lane = lane.value"]))
            return StreamStatements(stream, merge(each), _number(rows), stream.values)
        return StreamStatements(stream, _newest(rows), _number(rows), stream.values)
    way, end = _most_selective(stream, ask, probe)
    conditions = [each.served if index == way else each.hidden for index, each in enumerate(stream.ways)] + other
    if OF_LANES in conditions:
        rows = _from(stream, conditions)
        return StreamStatements(stream, _sorted(rows), _number(rows), stream.values)
    return _up_to(stream, end if bounded else None, conditions)


def _most_selective(stream: Stream, ask: Ask, probe: int) -> tuple[int | None, str | None]:
    """The index that leads to the fewest runs, or none for that of ids; and where the last one is that may be seen."""
    best: tuple[int | None, str | None] = (None, None)
    for index, way in enumerate(stream.ways):
        rows = _from(stream, [way.served])
        if way.served == OF_LANES:
            # No index has all of them in order, so they serve only if all of them can be read.
            if not ask(f"SELECT 1 {rows}LIMIT 1 OFFSET {probe - 1}", stream.values):
                return index, None
            continue
        found = ask(_newest(rows, limit=f"1 OFFSET {probe - 1}"), stream.values)
        if not found:
            return index, None
        if best[1] is None or found[0][0] < best[1]:
            best = index, found[0][0]
    if best[0] is None:
        found = ask(_newest(_from(stream), limit=f"1 OFFSET {probe - 1}"), stream.values)
        best = None, found[0][0] if found else None
    return best
