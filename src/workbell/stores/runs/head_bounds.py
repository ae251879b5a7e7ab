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
from collections.abc import Sequence
from datetime import datetime, timedelta

from workbell.errors import StoreUnavailable
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.database import Database, Row, Rows, read_rows

log = logging.getLogger("workbell.store")

SLOW_SECONDS = 0.02  # of the server, for a survey: about a hundred thousand dead rows
SLACK = timedelta(seconds=0.5)  # by which a bound lies before the first run: runs are queued nearly by their times
LOOK_SECONDS = 1.0  # between two looks at what lies before the bounds
LOOK_SHARE = 8  # and so many times what the last one took, if that is longer
MOST_KNOWN = 400  # lanes and ranks; where there are more, every survey is a whole one
MOST_SURVEYS = 8  # of gaps, each of which may show one lane more; then a whole one
KNOWN = ("lane", "rank", "since")

LaneRank = tuple[int, int]


class HeadBounds:
    """The bounds that this process knows. They are used from a slow survey on, until a look is quick."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = database.clock
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._since: dict[LaneRank, datetime] = {}
        self._look_at: float | None = None  # of monotonic time; none: no bounds are needed
        self._looking = False
        self._lock = threading.Lock()  # of all of these: a look writes them too

    def survey(self, after: int, limit: int) -> list[Row]:
        """Lanes and ranks that have queued runs: rows with the lane's id, in that order, the rank, the columns of the
        lane, and the time from which on its runs are to be claimed, or None."""
        if self._look_at is None or after >= 0:
            return self._survey_all(after, limit)
        if not self._looking and self._clock.monotonic() >= self._look_at:
            self._begin_look()
        for _ in range(MOST_SURVEYS):
            now = self._clock.now()
            with self._lock:
                bounds = dict(self._since)
            found = read_rows(self._database, "survey_since", rows=_rows(bounds))
            heads = {(row[0], row[1]): row[-2] for row in found}
            with self._lock:
                for key in bounds.keys() - heads.keys():  # it has nothing now: what is new will have a later time
                    self._raise(key, now - SLACK)
                for key, head in heads.items():
                    self._raise(key, head - SLACK)
                self._forget_many()
            if heads.keys() <= bounds.keys():
                rows: list[Row] = [[*row[:-2], bounds[row[0], row[1]]] for row in found if not row[-1]]
                return rows[:limit]
        return self._survey_all(after, limit)

    def _raise(self, key: LaneRank, since: datetime) -> None:
        """A bound only rises here. A look lowers it."""
        self._since[key] = max(since, self._since.get(key, since))

    def _survey_all(self, after: int, limit: int) -> list[Row]:
        rows = read_rows(self._database, "survey", after=after, limit=limit)
        found, seconds = _split(rows)
        if after < 0:
            with self._lock:
                self._since |= {(row[0], row[1]): row[-2] - SLACK for row in found}
                was_quick = self._look_at is None
                if seconds >= SLOW_SECONDS:
                    self._look_at = self._clock.monotonic() + max(LOOK_SECONDS, LOOK_SHARE * seconds)
                self._forget_many()
                if was_quick and self._look_at is not None:
                    log.info("a survey took %.0f ms of the server; dead rows are passed over now", seconds * 1000)
        return [[*row[:-2], None] for row in found]

    def _begin_look(self) -> None:
        self._looking = True
        try:
            threading.Thread(target=self._look, name="workbell-look", daemon=True).start()
        except RuntimeError:  # no thread can be started now
            self._looking = False

    def _look(self) -> None:
        """Find the first run before each bound, and lower the bound to it. This walks past all dead rows."""
        try:
            with self._lock:
                bounds = dict(self._since)
            found, seconds = _split(read_rows(self._database, "late_heads", rows=_rows(bounds)))
            with self._lock:
                if self._look_at is not None and self._since:  # else it was reset meanwhile
                    self._since |= {(lane, rank): head for lane, rank, head, _ in found}
                    wait = max(LOOK_SECONDS, LOOK_SHARE * seconds)
                    self._look_at = None if seconds < SLOW_SECONDS / 2 else self._clock.monotonic() + wait
            if found:
                self._database.wake()
        except Exception as error:
            what = "no look at what lies before the heads of lanes; it is tried again"
            if isinstance(error, StoreUnavailable):  # so many dead rows that it took too long, perhaps
                log.warning("%s: %s", what, error)
            else:
                log.exception(what)
            with self._lock:
                if self._look_at is not None:
                    self._look_at = self._clock.monotonic() + LOOK_SECONDS
        finally:
            self._looking = False

    def _forget_many(self) -> None:
        if len(self._since) > MOST_KNOWN:
            self._since, self._look_at = {}, None


def _split(rows: Sequence[Row]) -> tuple[list[Row], float]:
    """Rows, without the one that says how many seconds they took; and these."""
    (seconds,) = [row[-1] for row in rows if row[-1] is not None]
    return [row for row in rows if row[-1] is None], seconds


def _rows(known: dict[LaneRank, datetime]) -> Rows:
    return Rows(KNOWN, [(lane, rank, since) for (lane, rank), since in sorted(known.items())])
