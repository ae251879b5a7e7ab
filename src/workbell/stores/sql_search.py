"""Searching and counting runs in an SQL store, each in a time that does not grow with history.

Where no index leads to what is wanted, the database first says where the look has to end, and then looks only that
far. What it finds is read by id and compared once more here: so all stores mean the same by a filter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from workbell.model.payload_fields import Field
from workbell.model.run import Run
from workbell.model.run_page import Counted
from workbell.stores.filters import LaneChoice, Look, looks
from workbell.stores.matching import matches_all
from workbell.stores.port import MOST_COUNTED, SCAN, Filter, Found
from workbell.stores.session import Session

T = TypeVar("T")


class SqlSearch(ABC):
    """Search over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def choose_lanes(self, session: Session, wanted: Filter) -> LaneChoice: ...

    @abstractmethod
    def find_runs(self, ids: Iterable[str]) -> dict[str, Run]: ...

    @abstractmethod
    def spell_field(self, field: Field, letter: str) -> tuple[str, dict[str, Any]]:
        """A condition on `r.input` that leaves out no match, and its values, whose names end with the letter."""

    def search_runs(self, wanted: Filter, scan: int = SCAN) -> Found:
        ids, looked_to = self.read(lambda session: self._search(session, wanted, scan))
        runs = self.find_runs(ids) if ids else {}
        # Since they were found, they may have moved on, or be gone.
        found = [runs[run_id] for run_id in ids if run_id in runs and matches_all(runs[run_id], wanted)]
        return Found(found, looked_to)

    def _search(self, session: Session, wanted: Filter, scan: int) -> tuple[list[str], str | None]:
        tables, most = self._looks(session, wanted), wanted.limit + 1
        found: set[str] = set()
        ends: list[str] = []
        # Live runs first: one that ends between the two looks is then found in history.
        for look in tables:
            end, values = self._end(session, look, scan // len(tables))
            ids = [row[0] for row in session.text_rows(look.ids(bounded=end is not None), values | {"limit": most})]
            found.update(ids)
            if len(ids) == most:
                ends.append(ids[-1])
            elif end is not None:
                ends.append(end)
        looked_to = max(ends, default=None)  # in one of the tables nothing older was seen
        seen = sorted((run_id for run_id in found if looked_to is None or run_id >= looked_to), reverse=True)
        page = seen[: wanted.limit]
        return page, page[-1] if len(seen) > wanted.limit else looked_to

    def count_runs(self, wanted: Filter, most: int = MOST_COUNTED, scan: int = SCAN) -> Counted:
        def work(session: Session) -> Counted:
            tables, count, capped = self._looks(session, wanted), 0, False
            for look in tables:
                end, values = self._end(session, look, scan // len(tables))
                capped = capped or end is not None
                limit = {"limit": most + 1 - count}
                count += session.text_rows(look.number(bounded=end is not None), values | limit)[0][0]
            return Counted(min(count, most), capped or count > most)

        return self.read(work)

    def _looks(self, session: Session, wanted: Filter) -> list[Look]:
        fields = [self.spell_field(field, chr(ord("a") + place)) for place, field in enumerate(wanted.fields)]
        return list(looks(wanted, self.choose_lanes(session, wanted), fields))

    def _end(self, session: Session, look: Look, scan: int) -> tuple[str | None, dict[str, Any]]:
        """Where a look must end, if it must, and its values with that."""
        if not look.scanned:
            return None, look.values
        found = session.text_rows(look.end, look.values | {"skipped": scan - 1})
        end: str | None = found[0][0] if found else None
        return end, look.values if end is None else look.values | {"end": end}
