"""Which lanes there are: what an SQL store knows of them, and the removal of those that nothing is left of.

Lanes without a key are few and stay for good. Of those with a key there can be any number: they are written anew when
they are used, and go when they were not used for a day and have no runs left. So what is known of them is bounded, and
never taken for certain for longer than an hour.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from workbell.model.clock import Clock
from workbell.model.run import Lane, NewRun
from workbell.stores.database import Row
from workbell.stores.filters import MANY, LaneChoice, lanes_beside, lanes_wanted
from workbell.stores.port import Filter, Head
from workbell.stores.session import Session

T = TypeVar("T")

MOST_KEYED = 20_000  # lanes with a key that are kept in mind
SURE_FOR = 3600.0  # seconds after its writing in which a lane with a key is there without doubt
IDLE_FOR = timedelta(days=1)  # after which it may go
PAGE = 1000


class SqlLanes(ABC):
    """Lanes over a `Session`."""

    clock: Clock

    def __init__(self) -> None:
        self.lanes: dict[int, Lane] = {}  # never made smaller, only replaced: others may be reading it
        self._keyed = 0
        self._written: dict[int, float] = {}  # when we last wrote a lane with a key
        self._looked_at_to = -1

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def _ensure_lanes(self, session: Session, lanes: Iterable[Lane]) -> None: ...

    # What is known

    def note_lanes(self, lanes: Sequence[Lane]) -> None:
        """These are committed now."""
        if lanes:
            self._remember({lane.id: lane for lane in lanes})
            self._written |= {lane.id: self.clock.monotonic() for lane in lanes if lane.key is not None}

    def _unknown_lanes(self, new: Sequence[NewRun]) -> list[Lane]:
        """Those that must be written with these runs."""
        lanes = {new[0].run.lane} if len(new) == 1 else {request.run.lane for request in new}
        return [
            lane for lane in lanes if lane.id not in self.lanes or (lane.key is not None and not self._is_sure(lane))
        ]

    def _is_sure(self, lane: Lane) -> bool:
        written = self._written.get(lane.id)
        return written is not None and self.clock.monotonic() - written < SURE_FOR

    def _remember(self, found: Mapping[int, Lane]) -> dict[int, Lane]:
        """Keep lanes in mind; the answer has them, whatever others do meanwhile."""
        self._keyed += sum(lane.key is not None for lane in found.values())
        if self._keyed > MOST_KEYED:
            self.lanes = {lane_id: lane for lane_id, lane in list(self.lanes.items()) if lane.key is None}
            self._written = {}
            self._keyed = 0
        lanes = self.lanes
        lanes.update(found)
        return lanes

    def _lane(self, lane_id: int, parts: Row) -> Lane:
        lane = self.lanes.get(lane_id)
        if lane is None:
            lane = Lane(*parts)
            self._remember({lane_id: lane})
        return lane

    def lanes_for(self, session: Session, ids: Iterable[int]) -> Mapping[int, Lane]:
        """A mapping in which these are; those we have not heard of are read."""
        lanes = self.lanes
        missing = {lane_id for lane_id in ids if lane_id not in lanes}
        if not missing:
            return lanes
        found = {row[0]: Lane(*row[1:6]) for row in session.rows("find_lanes", ids=sorted(missing))}
        known = self._remember(found)
        return known if known is lanes else lanes | known

    def choose_lanes(self, session: Session, wanted: Filter) -> LaneChoice:
        """The lanes of a filter: by id if they are few."""
        chosen = [row[0] for row in session.text_rows(*lanes_wanted(wanted))]
        every = bool(chosen) and not session.text_rows(*lanes_beside(wanted))
        return LaneChoice((), every, many=True) if len(chosen) >= MANY else LaneChoice(chosen, every)

    def survey_tenant(self, tenant: str, limit: int) -> list[Head]:
        found = self.read(lambda session: session.rows("survey_tenant", tenant=tenant, limit=limit))
        return [Head(row[0], row[1], self._lane(row[0], row[2:])) for row in found]

    def survey_targets(self, tenant: str, targets: Sequence[str], limit: int) -> list[Head]:
        if not targets:
            return []
        values = {"tenant": tenant, "targets": list(targets), "limit": limit}
        found = self.read(lambda session: session.rows("survey_targets", **values))
        return [Head(row[0], row[1], self._lane(row[0], row[2:])) for row in found]

    def waiting_targets(self) -> set[tuple[str, str]]:
        return {(row[0], row[1]) for row in self.read(lambda session: session.rows("waiting_targets"))}

    # Those that nothing is left of

    def delete_idle_lanes(self, session: Session, now: datetime) -> None:
        """Look at a page of the lanes with keys, from where the last look ended, and remove what is not needed."""
        before = now - IDLE_FOR
        page = session.rows("keyed_lanes", after=self._looked_at_to, limit=PAGE)
        self._looked_at_to = page[-1][0] if len(page) == PAGE else -1
        idle = [row[0] for row in page if row[1] <= before]
        if idle:
            for row in session.rows("delete_lanes", ids=idle, before=before):
                self._written.pop(row[0], None)
