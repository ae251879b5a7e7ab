"""Materialise: due ticks of schedules become runs, each with its row in the ledger, in one guarded write.

Any number of schedulers do this at once: whoever writes first has the tick, the others' writes find another version
of the schedule and leave nothing behind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from workbell.errors import JobsError, StoreError, StoreUnavailable
from workbell.handlers.registry import Registry
from workbell.model.job import QUEUE
from workbell.model.payload import clean_text
from workbell.model.run import NewRun
from workbell.model.schedule import DueSchedule, Schedule, ScheduleChange
from workbell.scheduling.decide import decide, decide_broken, decide_failed
from workbell.scheduling.request import request_for
from workbell.scheduling.rule import rule_of
from workbell.stores.port import Store

log = logging.getLogger("workbell.scheduler")

BATCH = 250
GAP = timedelta(seconds=0.05)  # a hint is mostly about runs: looking for those goes first


class Materialise:
    def __init__(self, store: Store, registry: Registry, announce: Callable[[], None], poll: float) -> None:
        self._store = store
        self._registry = registry
        self._announce = announce
        self._poll = timedelta(seconds=poll)
        self._look_at: datetime | None = None
        self._hinted = False

    def hint(self) -> None:
        """A schedule may have been put, or a run have ended that a tick is waiting for."""
        self._hinted = True

    def step(self, now: datetime) -> float:
        """Fire what is due; the answer is how long until something is, or the poll interval."""
        if self._look_at is not None and self._hinted:
            self._look_at = min(self._look_at, now + GAP)
        self._hinted = False
        # Further away than a poll can only mean that the clock was put back.
        if self._look_at is not None and timedelta(0) < self._look_at - now <= self._poll:
            return (self._look_at - now).total_seconds()
        due = self._store.due_schedules(now, BATCH)
        if due:
            self._fire(due, now)
            self._look_at = None
            return 0
        look_at = self._store.next_look()
        self._look_at = now + self._poll if look_at is None else min(look_at, now + self._poll)
        return max((self._look_at - now).total_seconds(), 0.001)

    def _fire(self, due: Sequence[DueSchedule], now: datetime) -> None:
        queues: dict[tuple[str, str], str] = {}

        def make_run(schedule: Schedule, at: datetime, made: datetime) -> NewRun:
            job = (schedule.tenant, schedule.job)
            if job not in queues:
                queues[job] = self._queue_of(schedule)
            return request_for(schedule, queues[job], at, made)

        changes = [self._decide(found, now, make_run) for found in due]
        try:
            self._store.write_schedules(changes)
        except StoreUnavailable:
            raise
        except StoreError:
            self._one_by_one(due, changes, now)
        if any(change.runs for change in changes):
            self._announce()

    def _queue_of(self, schedule: Schedule) -> str:
        known = self._registry.find(schedule.job)
        if known is not None:
            return known.queue
        stored = self._store.find_job(schedule.tenant, schedule.job)
        return QUEUE if stored is None else stored.queue

    def _decide(
        self, found: DueSchedule, now: datetime, make_run: Callable[[Schedule, datetime, datetime], NewRun]
    ) -> ScheduleChange:
        schedule = found.schedule
        try:
            return decide(schedule, rule_of(schedule), now, busy=found.busy, make_run=make_run)
        except JobsError as error:
            log.error("schedule %s of tenant %s cannot be read: %s", schedule.name, schedule.tenant, error)
            return decide_broken(schedule, now, clean_text(str(error), 1000))

    def _one_by_one(self, due: Sequence[DueSchedule], changes: Sequence[ScheduleChange], now: datetime) -> None:
        """One of them cannot be written: find it, note that, and let the others go on."""
        for found, change in zip(due, changes, strict=True):
            try:
                self._store.write_schedules([change])
            except StoreUnavailable:
                raise
            except StoreError as error:
                log.error(
                    "schedule %s of tenant %s: no run could be made: %s",
                    change.schedule.name,
                    change.schedule.tenant,
                    error,
                )
                failed = decide_failed(change, found.schedule, now, clean_text(str(error), 1000))
                self._store.write_schedules([failed])
