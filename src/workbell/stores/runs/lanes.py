"""Lanes: the cache of known lanes, how new ones are made, and the removal of unused ones.

Lanes without a key are few and stay for good. Of those with a key there can be any number: they are written again when
they are used, and removed when they were not used for a day and have no runs. So the cache of them is bounded, and an
entry is trusted for an hour only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

import msgspec

from workbell.model.run import Lane, NewRun, Run
from workbell.stores.database import Batch, Database, Row, Rows, Statement, read_rows, write_rows
from workbell.stores.port import Head, LeaseTerms

MOST_KEYED = 20_000  # lanes with a key in the cache
TRUSTED_SECONDS = 3600.0  # a lane with a key surely exists for so long after we wrote it
IDLE_FOR = timedelta(days=1)  # after which it may go
PAGE = 1000
LANE = ("id", *Lane.__struct_fields__)
IN_ORDER = attrgetter("rank", "scheduled_for", "id")  # in which runs are worked on


class Lanes:
    """The lanes of one database that this process knows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.known: dict[int, Lane] = {}  # never made smaller, only replaced: others may be reading it
        self._keyed = 0
        self._written: dict[int, float] = {}  # when we last wrote a lane with a key
        self._checked_to = -1

    # Making them

    def prepare(self, new: Sequence[NewRun]) -> Sequence[Lane]:
        """The lanes that are to be part of the write that makes these runs; `note` them when it is committed.

        Where several write at once there are none: the lanes are made here, on their own. One that were made inside a
        long transaction would block every other process that makes the same one.
        """
        lanes = {new[0].run.lane} if len(new) == 1 else {request.run.lane for request in new}
        unknown = [
            lane for lane in lanes if lane.id not in self.known or (lane.key is not None and not self._is_trusted(lane))
        ]
        if not unknown or self._database.dialect.one_writer:
            return unknown
        self._database.write(self.statements(unknown))
        self.note(unknown)
        return ()

    def statements(self, lanes: Collection[Lane]) -> list[Statement]:
        """One statement for all of them; none, if there are none."""
        return _of_lanes("add_lanes", lanes, self._database.clock.now()) if lanes else []

    def note(self, lanes: Sequence[Lane]) -> None:
        """These are committed now."""
        if lanes:
            self.remember({lane.id: lane for lane in lanes})
            self._written |= {lane.id: self._database.clock.monotonic() for lane in lanes if lane.key is not None}

    def _is_trusted(self, lane: Lane) -> bool:
        written = self._written.get(lane.id)
        return written is not None and self._database.clock.monotonic() - written < TRUSTED_SECONDS

    # Knowing them

    def remember(self, found: Mapping[int, Lane]) -> dict[int, Lane]:
        """Cache lanes; the answer has them, whatever other threads do meanwhile."""
        self._keyed += sum(lane.key is not None for lane in found.values())
        if self._keyed > MOST_KEYED:
            self.known = {lane_id: lane for lane_id, lane in list(self.known.items()) if lane.key is None}
            self._written = {}
            self._keyed = 0
        known = self.known
        known.update(found)
        return known

    def find(self, ids: Iterable[int]) -> Mapping[int, Lane]:
        """A mapping that has these lanes; unknown ones are read."""
        known = self.known
        missing = {lane_id for lane_id in ids if lane_id not in known}
        if not missing:
            return known
        found = lanes_from(read_rows(self._database, "find_lanes", ids=sorted(missing)))
        more = self.remember(found)
        return more if more is known else known | more

    def make_runs(self, rows: Sequence[Row]) -> list[Run]:
        """Runs of rows with their columns."""
        lanes = self.find({row[1] for row in rows})
        make = self._database.dialect.make_run
        return [make(row, lanes) for row in rows]

    def query(self, query: str, **values: Any) -> list[Run]:
        """The runs that a query answers."""
        return self.make_runs(read_rows(self._database, query, **values))

    def make_started(self, rows: Sequence[Row], terms: LeaseTerms) -> list[Run]:
        """Runs that a claim has started, in the order to be worked on. Made after the commit, when no lock is held."""
        lanes = self.find({row[1] for row in rows})
        make = self._database.dialect.make_started
        return sorted([make(row, lanes, terms) for row in rows], key=IN_ORDER)

    def make_heads(self, rows: Iterable[Row]) -> list[Head]:
        """Heads of rows with a lane's id, a rank, the columns of the lane, and perhaps a bound."""
        heads = []
        for lane_id, rank, *parts in rows:
            lane = self.known.get(lane_id)
            if lane is None:
                lane = Lane(*parts[:5])
                self.remember({lane_id: lane})
            heads.append(Head(lane_id, rank, lane, *parts[5:]))
        return heads

    # Removing unused ones

    def prune(self, now: datetime) -> None:
        """Check a page of the lanes with keys, continuing after the last page, and remove unused ones."""
        before = now - IDLE_FOR
        page = read_rows(self._database, "keyed_lanes", after=self._checked_to, limit=PAGE)
        self._checked_to = page[-1][0] if len(page) == PAGE else -1
        idle = [row[0] for row in page if row[1] <= before]
        if idle:
            for row in write_rows(self._database, "delete_lanes", ids=idle, before=before):
                self._written.pop(row[0], None)


def _of_lanes(query: str, lanes: Collection[Lane], now: datetime) -> list[Statement]:
    values = {lane.id: [lane.id, *msgspec.structs.astuple(lane)] for lane in lanes}
    return [Statement(query, {"rows": Rows(LANE, [values[lane_id] for lane_id in sorted(values)]), "now": now})]


def lanes_from(rows: Iterable[Row]) -> dict[int, Lane]:
    """The answer of `find_lanes`."""
    return {row[0]: Lane(*row[1:6]) for row in rows}


def loading(lanes: Sequence[Lane], now: datetime) -> Batch:
    """Lanes of another store."""
    return _of_lanes("load_lanes", lanes, now) if lanes else []
