"""Head bounds: where the queued runs of each lane begin, for PostgreSQL while dead rows lie before them.

A session that stays in a transaction keeps vacuum from removing rows that were claimed since. They stay in the index of
queued runs, before the first live one, and every survey and claim walks past them: with a million a survey takes 0.2 s.
So once a survey was slow, the surveys and claims that follow begin where the last one found a run, a little before it.
Lanes that are new are found in the gaps between the known ones. A run that is queued before its bound is found by a
look at what lies there, in a thread of its own, about once a second. As soon as that look is quick, all is as before.
"""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

from workbell.errors import StoreError
from workbell.stores.database import Database, Row, Rows, read_rows

log = logging.getLogger("workbell.store")

SLOW_SECONDS = 0.02  # of the server, for a survey: about a hundred thousand dead rows
SLACK = timedelta(seconds=0.5)  # by which a bound lies before the first run: runs are queued nearly by their times
LOOK_SECONDS = 1.0  # between two looks at what lies before the bounds
LOOK_SHARE = 4  # and so many times what the last one took, if that is longer
MOST_KNOWN = 400  # lanes and ranks; where there are more, every survey is a whole one
KNOWN = ("lane", "rank", "since")

LaneRank = tuple[int, int]


class HeadBounds:
    """The bounds that this process knows. They are used from a slow survey on, until a look is quick."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = database.clock
        self._since: dict[LaneRank, datetime] = {}
        self._late: dict[LaneRank, datetime] = {}  # runs before the bounds, found by the last look
        self._look_at: float | None = None  # of monotonic time; none: no bounds are needed
        self._looking = False
        self._lock = threading.Lock()  # of all of these: a look writes them too

    def survey(self, after: int, limit: int) -> list[Row]:
        """Lanes and ranks that have queued runs: rows with the lane's id, in that order, the rank, the columns of the
        lane, and the time from which on its runs are to be claimed, or None."""
        if self._look_at is None or after >= 0:
            return self._survey_all(after, limit)
        if not self._looking and self._clock.monotonic() >= self._look_at:
            self._looking = True
            threading.Thread(target=self._look, name="workbell-look", daemon=True).start()
        with self._lock:
            bounds, late, self._late = dict(self._since), self._late, {}
        found = read_rows(self._database, "survey_since", rows=_rows(bounds | late))
        with self._lock:
            for lane, rank, *_, head, _ in found:
                self._since[lane, rank] = max(head - SLACK, bounds.get((lane, rank), head - SLACK))
            self._forget_many()
        begins = {(lane, rank): head - SLACK for lane, rank, *_, head, _ in found} | bounds | late
        heads: list[Row] = [[*row[:-2], begins[row[0], row[1]]] for row in found if not row[-1]]
        return heads[:limit]

    def _survey_all(self, after: int, limit: int) -> list[Row]:
        *found, (*_, seconds) = read_rows(self._database, "survey", after=after, limit=limit)
        if after < 0:
            with self._lock:
                self._since |= {(row[0], row[1]): row[-2] - SLACK for row in found}
                if seconds >= SLOW_SECONDS:
                    self._look_at = self._clock.monotonic() + max(LOOK_SECONDS, LOOK_SHARE * seconds)
                    log.info("a survey took %.0f ms of the server; dead rows are passed over now", seconds * 1000)
                self._forget_many()
        return [[*row[:-2], None] for row in found]

    def _look(self) -> None:
        """Find the first run before each bound, if there is one. This walks past all dead rows."""
        try:
            with self._lock:
                bounds = dict(self._since)
            *found, (*_, seconds) = read_rows(self._database, "late_heads", rows=_rows(bounds))
            with self._lock:
                self._late = {(lane, rank): head for lane, rank, head, _ in found}
                self._look_at = self._clock.monotonic() + max(LOOK_SECONDS, LOOK_SHARE * seconds)
                if seconds < SLOW_SECONDS / 2:
                    self._look_at = None
        except StoreError as error:
            log.debug("no look before the heads of lanes: %s", error)
        finally:
            self._looking = False

    def _forget_many(self) -> None:
        if len(self._since) > MOST_KNOWN:
            self._since, self._look_at = {}, None


def _rows(known: dict[LaneRank, datetime]) -> Rows:
    return Rows(KNOWN, [(lane, rank, since) for (lane, rank), since in sorted(known.items())])
