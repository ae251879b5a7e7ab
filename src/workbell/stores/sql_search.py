"""Listing, searching and counting runs in an SQL store, each in a time that does not grow with history.

Where no index leads to what is wanted, the database first says where the look has to end, and then looks only that
far. What it finds is read by id and compared once more here: so all stores mean the same by a filter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from workbell.model.payload_fields import Field
from workbell.model.run import Run
from workbell.model.run_page import Counted
from workbell.stores.database import Row
from workbell.stores.filters import LaneChoice, streams_of
from workbell.stores.looks import Chosen, choose
from workbell.stores.matching import matches, matches_all
from workbell.stores.port import MOST_COUNTED, SCAN, Filter, Found
from workbell.stores.session import Session

T = TypeVar("T")


class SqlSearch(ABC):
    """Search over a `Session`."""

    @abstractmethod
    def look(self, work: Callable[[Session], T]) -> T:
        """Run a function that only reads, and that may say that it wants to be led by indexes."""

    @abstractmethod
    def choose_lanes(self, session: Session, wanted: Filter) -> LaneChoice: ...

    @abstractmethod
    def find_runs(self, ids: Iterable[str]) -> dict[str, Run]: ...

    @abstractmethod
    def _runs(self, session: Session, found: Iterable[Row]) -> list[Run]: ...

    @abstractmethod
    def spell_field(self, field: Field, letter: str) -> tuple[str, dict[str, Any]]:
        """A condition on `r.input` that leaves out no match, and its values, whose names end with the letter."""

    @abstractmethod
    def merge_lanes(self, newest: str) -> str:
        """The newest `:limit` ids of `:lanes`, by a query for the newest of `lane.value`."""

    @abstractmethod
    def is_among(self, ids: str) -> str:
        """The condition that `r.id` is one of those that a query finds, which is to be asked once."""

    def list_runs(self, wanted: Filter) -> list[Run]:
        def work(session: Session) -> list[Run]:
            found: dict[str, Run] = {}
            # Live runs first: one that ends between the two looks is then found in history.
            for chosen in self._chosen(session, wanted, SCAN, bounded=False):
                rows = self._found(session, chosen, wanted.limit, chosen.stream.columns)
                # Compared once more: a tenant may have come since it was found that all lanes are this one's.
                found |= {run.id: run for run in self._runs(session, rows) if matches(run, wanted)}
            return sorted(found.values(), key=lambda run: run.id, reverse=True)[: wanted.limit]

        return self.look(work)

    def search_runs(self, wanted: Filter, scan: int = SCAN) -> Found:
        ids, looked_to = self.look(lambda session: self._search(session, wanted, scan))
        runs = self.find_runs(ids) if ids else {}
        # Since they were found, they may have moved on, or be gone.
        found = [runs[run_id] for run_id in ids if run_id in runs and matches_all(runs[run_id], wanted)]
        return Found(found, looked_to)

    def _search(self, session: Session, wanted: Filter, scan: int) -> tuple[list[str], str | None]:
        most = wanted.limit + 1
        found: set[str] = set()
        ends: list[str] = []
        for chosen in self._chosen(session, wanted, scan):
            ids = [row[0] for row in self._found(session, chosen, most)]
            found.update(ids)
            if len(ids) == most:
                ends.append(min(ids))
            elif chosen.end is not None:
                ends.append(chosen.end)
        looked_to = max(ends, default=None)  # in one of the tables nothing older was seen
        seen = sorted((run_id for run_id in found if looked_to is None or run_id >= looked_to), reverse=True)
        page = seen[: wanted.limit]
        return page, page[-1] if len(seen) > wanted.limit else looked_to

    def count_runs(self, wanted: Filter, most: int = MOST_COUNTED, scan: int = SCAN) -> Counted:
        def work(session: Session) -> Counted:
            count, capped = 0, False
            for chosen in self._chosen(session, wanted, scan):
                capped = capped or chosen.end is not None
                count += session.text_rows(chosen.number, chosen.values | {"limit": most + 1 - count})[0][0]
            return Counted(min(count, most), capped or count > most)

        return self.look(work)

    def _chosen(self, session: Session, wanted: Filter, scan: int, *, bounded: bool = True) -> Iterator[Chosen]:
        """How each table is looked at; live runs come first."""
        fields = [self.spell_field(field, chr(ord("a") + place)) for place, field in enumerate(wanted.fields)]
        streams = list(streams_of(wanted, self.choose_lanes(session, wanted), fields))
        led = False
        for stream in streams:
            if not stream.live and not led:
                session.follow_indexes()
                led = True
            yield choose(stream, session.text_rows, self.merge_lanes, max(scan // len(streams), 1), bounded=bounded)

    def _found(self, session: Session, chosen: Chosen, most: int, columns: str | None = None) -> Sequence[Row]:
        """Ids, or rows with these columns."""
        values = chosen.values | {"limit": most}
        found: Sequence[Row] = ()
        for statement in (chosen.first, chosen.ids):
            if statement is None:
                continue
            if columns is not None:
                statement = f"SELECT {columns} FROM {chosen.stream.table} r WHERE {self.is_among(statement)}"  # noqa: S608
            found = session.text_rows(statement, values)
            if len(found) == most:
                break
        return found
