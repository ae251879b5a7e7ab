"""Run search: lists, searches and counts, each in a time that does not grow with history.

Where no index leads to the wanted runs, a first query finds the id at which the search must end, and a second one
searches that far. Each step is a batch of its own: the runs found are read by id and compared once more here, so no
snapshot is needed, and a filter means the same in all stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from workbell.model.run import Run
from workbell.model.run_page import Counted
from workbell.stores.database import Database, Row, Statement
from workbell.stores.matching import matches, matches_all
from workbell.stores.port import MOST_COUNTED, SCAN, Filter, FoundRuns
from workbell.stores.reports.filters import MANY, SEARCH, LaneChoice, Stream, lanes_beside, lanes_wanted, streams_of
from workbell.stores.reports.search_plans import StreamStatements, choose
from workbell.stores.runs.finding import find_runs
from workbell.stores.runs.lanes import Lanes

Listed = list[Run]  # inside the class `list` is the verb


class Search:
    """Runs of a filter."""

    def __init__(self, database: Database, lanes: Lanes) -> None:
        self._database = database
        self._lanes = lanes

    def list(self, wanted: Filter) -> Listed:
        """Runs, newest first, by all words of a filter but the fields of inputs, and whether they were retried."""
        found: dict[str, Run] = {}
        # Live runs first: one that ends between the two steps is then found in history.
        for chosen in self._chosen(wanted, SCAN, bounded=False):
            rows = self._rows(chosen, wanted.limit, chosen.stream.columns)
            # Compared once more: a tenant may have come since it was found that all lanes are this one's.
            found |= {run.id: run for run in self._lanes.make_runs(rows) if matches(run, wanted)}
        return sorted(found.values(), key=lambda run: run.id, reverse=True)[: wanted.limit]

    def search(self, wanted: Filter, scan: int = SCAN) -> FoundRuns:
        """Runs by all words of a filter; of those that no index leads to, no more than `scan` are read."""
        ids, searched_to = self._page(wanted, scan)
        runs = find_runs(self._database, self._lanes, ids) if ids else {}
        # Since they were found, they may have moved on, or be gone.
        found = [runs[run_id] for run_id in ids if run_id in runs and matches_all(runs[run_id], wanted)]
        return FoundRuns(found, searched_to)

    def _page(self, wanted: Filter, scan: int) -> tuple[Sequence[str], str | None]:
        """The ids of a page, and the id up to which was searched."""
        most = wanted.limit + 1
        found: set[str] = set()
        ends: list[str] = []
        for chosen in self._chosen(wanted, scan):
            ids = [row[0] for row in self._rows(chosen, most)]
            found.update(ids)
            if len(ids) == most:
                ends.append(min(ids))
            elif chosen.end is not None:
                ends.append(chosen.end)
        searched_to = max(ends, default=None)  # in one of the tables nothing older was seen
        seen = sorted((run_id for run_id in found if searched_to is None or run_id >= searched_to), reverse=True)
        page = seen[: wanted.limit]
        return page, page[-1] if len(seen) > wanted.limit else searched_to

    def count(self, wanted: Filter, most: int = MOST_COUNTED, scan: int = SCAN) -> Counted:
        """How many runs a search finds, counted up to `most`."""
        count, capped = 0, False
        for chosen in self._chosen(wanted, scan):
            capped = capped or chosen.end is not None
            values = chosen.values | {"limit": most + 1 - count}
            count += self._ask(chosen.stream, chosen.number, values)[0][0]
        return Counted(min(count, most), capped or count > most)

    def _chosen(self, wanted: Filter, scan: int, *, bounded: bool = True) -> Iterator[StreamStatements]:
        """The statements for each table; those for live runs come first."""
        dialect = self._database.dialect
        fields = [dialect.field_condition(field, chr(ord("a") + index)) for index, field in enumerate(wanted.input)]
        streams = [*streams_of(wanted, choose_lanes(self._database, wanted), fields)]
        for stream in streams:
            ask = partial(self._ask, stream)
            yield choose(stream, ask, dialect.merge_lanes, max(scan // len(streams), 1), bounded=bounded)

    def _ask(self, stream: Stream, text: str, values: dict[str, Any]) -> Sequence[Row]:
        """The answer to composed SQL. On history, which is large, planner settings may have to enforce indexes."""
        statement = Statement(SEARCH, values, text=text)
        hints = () if stream.live else self._database.dialect.follow_indexes
        if not hints:
            return self._database.read([statement])[0]
        return self._database.write([*hints, statement])[-1]  # settings last as long as the transaction

    def _rows(self, chosen: StreamStatements, most: int, columns: str | None = None) -> Sequence[Row]:
        """Ids, or rows with these columns."""
        values = chosen.values | {"limit": most}
        found: Sequence[Row] = ()
        for text in (chosen.first, chosen.ids):
            if text is None:
                continue
            if columns is not None:
                among = self._database.dialect.is_among(text)
                text = f"SELECT {columns} FROM {chosen.stream.table} r WHERE {among}"  # noqa: S608
            found = self._ask(chosen.stream, text, values)
            if len(found) == most:
                break
        return found


def choose_lanes(database: Database, wanted: Filter) -> LaneChoice:
    """The lanes of a filter: by id if they are few."""
    asked = [Statement(SEARCH, values, text=text) for text, values in (lanes_wanted(wanted), lanes_beside(wanted))]
    found, beside = database.read(asked)
    chosen = [row[0] for row in found]
    every = bool(chosen) and not beside
    return LaneChoice((), every, many=True) if len(chosen) >= MANY else LaneChoice(chosen, every)
