"""Claims under limits, for every SQL store: one transaction that holds the limits' rows, counts, claims, and notes.

Whoever claims runs of a limited job holds the row of each limit first; what is running is then counted from the runs.
So two claims never see the same free place, and nothing that was counted can be left over from a process that died.

A limit that another claim holds at this moment has no room for this one: it is not waited for, because its holder may
be a process that stands still, and everything else would wait with it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from workbell.model.clock import Clock
from workbell.model.limit import ALL_JOBS, Limit, Use
from workbell.model.rate import Starts
from workbell.model.run import Run
from workbell.stores.allotment import Allotment
from workbell.stores.database import Row
from workbell.stores.port import Pick
from workbell.stores.session import Session

T = TypeVar("T")

KEPT_FOR = timedelta(days=2)  # longer than the longest span of a rate
PAGE = 1000
# Seconds until limits that another claim holds are tried again, where there was nothing else to claim. A claim takes a
# few milliseconds; what is held for longer is left to the next poll.
AGAIN = (0.002, 0.004, 0.008, 0.016)
LANE, RANK = 1, 3  # places in the row of a run

_starts = msgspec.json.Decoder(list[tuple[int, int]])


class SqlLimits(ABC):
    """Limits over a `Session`."""

    clock: Clock
    limits_need_rows = True  # to be locked; without them a transaction keeps others out anyway

    def __init__(self) -> None:
        self._limits_looked_at_to = -1

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    @abstractmethod
    def _claim(
        self, session: Session, picks: Sequence[Pick], limit: int, worker: str, now: datetime, lease_until: datetime
    ) -> list[Row]: ...

    @abstractmethod
    def _claimed(self, found: Sequence[Row]) -> list[Run]: ...

    def claim_limited(
        self,
        picks: Sequence[Pick],
        limit: int,
        limits: Mapping[int, Sequence[Limit]],
        *,
        worker: str,
        now: datetime,
        lease_until: datetime,
    ) -> list[Run]:
        concerned = {pick.lane_id: limits.get(pick.lane_id, ()) for pick in picks}
        every = {one.id: one for listed in concerned.values() for one in listed}
        missing: list[Limit] = []  # limits that have no rows yet
        locked: set[int] = set()  # limits that another claim holds

        def work(session: Session) -> Sequence[Row]:
            missing.clear()
            locked.clear()
            held = session.rows("lock_limits", ids=sorted(every))
            if self.limits_need_rows and len(held) < len(every):
                known = {row[0] for row in session.rows("limit_starts", ids=sorted(every))}
                missing.extend(every[limit_id] for limit_id in sorted(every) if limit_id not in known)
                locked.update(every.keys() - {row[0] for row in held})
                if missing:
                    return []
            moment = max(now, self.clock.now())  # it may have taken a while to get here
            free = {lane: listed for lane, listed in concerned.items() if locked.isdisjoint(one.id for one in listed)}
            counted = {one.id: one for listed in free.values() for one in listed}
            allotment = Allotment(free, self._uses(session, list(counted.values()), held), moment)

            def take(granted: Sequence[Pick], most: int) -> Sequence[Row]:
                return self._claim(session, granted, most, worker, moment, lease_until + (moment - now))

            wanted = [pick for pick in picks if pick.lane_id in free]
            found = allotment.claim(wanted, limit, take, lambda row: (row[LANE], row[RANK]))
            self._note_starts(session, allotment.new_starts(), moment)
            return found

        pauses = iter(AGAIN)
        while True:
            found = self.write(work)
            if missing:
                # On its own, and before: rows that are made while others are held could not be made in one order.
                self.write(lambda session: self._add_limits(session, missing, now))
                continue
            pause = next(pauses, None) if locked and not found else None
            if pause is None:
                return self._claimed(found)
            time.sleep(pause)

    def limit_uses(self, limits: Sequence[Limit]) -> dict[int, Use]:
        """How much of these limits is taken, at a glance: nobody is kept from taking more."""
        every = list({limit.id: limit for limit in limits}.values())
        timed = [limit.id for limit in every if limit.rate is not None]

        def work(session: Session) -> dict[int, Use]:
            noted = session.rows("limit_starts", ids=timed) if timed else []
            return self._uses(session, every, noted)

        return self.read(work) if limits else {}

    def _uses(self, session: Session, limits: Sequence[Limit], noted: Iterable[Row]) -> dict[int, Use]:
        starts = {row[0]: _starts.decode(row[1]) for row in noted}
        running = self._count_running(session, [limit for limit in limits if limit.concurrency is not None])
        return {limit.id: Use(running.get(limit.id, 0), starts.get(limit.id, ())) for limit in limits}

    def _count_running(self, session: Session, limits: Sequence[Limit]) -> dict[int, int]:
        keyed = [limit for limit in limits if limit.key is not None]
        found: dict[int, int] = {}
        if keyed:
            values = [(limit.id, limit.tenant, limit.job, limit.key) for limit in keyed]
            counted = session.rows("running_of_keys", **self.spell(("id", "tenant", "job", "key"), values))
            found |= {row[0]: row[1] for row in counted}
        for limit in limits:
            if limit.key is None:
                found[limit.id] = session.rows(_count_query(limit), tenant=limit.tenant, job=limit.job)[0][0]
        return found

    def _note_starts(self, session: Session, noted: Sequence[tuple[Limit, Starts]], now: datetime) -> None:
        if noted:
            values = [_limit_values(limit, starts, now) for limit, starts in noted]
            session.rows("note_starts", **self.spell(COLUMNS, values))

    def _add_limits(self, session: Session, limits: Sequence[Limit], now: datetime) -> None:
        session.rows("add_limits", **self.spell(COLUMNS, [_limit_values(limit, (), now) for limit in limits]))

    def delete_idle_limits(self, session: Session, now: datetime) -> None:
        """Rows whose starts no longer matter to anybody; one that is needed again is made again."""
        page = session.rows("limits", after=self._limits_looked_at_to, limit=PAGE)
        self._limits_looked_at_to = page[-1][0] if len(page) == PAGE else -1
        before = now - KEPT_FOR
        idle = [row[0] for row in page if row[1] <= before]
        if idle:
            session.rows("delete_limits", ids=idle, before=before)


COLUMNS = "id tenant job key starts updated_at".split()


def _limit_values(limit: Limit, starts: Starts, now: datetime) -> tuple[Any, ...]:
    text = msgspec.json.encode(starts).decode()
    return limit.id, limit.tenant, limit.job, limit.key, text, now


def _count_query(limit: Limit) -> str:
    if limit.job == ALL_JOBS:
        return "running_of_tenant"
    if limit.keyed:  # runs from before the job had its key
        return "running_without_key"
    return "running_scattered" if limit.scattered else "running_of_job"
