"""Materialise: due ticks of schedules become runs, each with its row in the ledger, in one guarded write.

Any number of schedulers do this at once: the first write has the tick, the others find another version of
the schedule and leave nothing behind.

What is due in a moment is read and decided before its time, so that at the tick itself only the write is left:
of a thousand ticks at one instant the last is then written in half the time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from workbell.engine.duty import Batch, Pacing
from workbell.engine.locked_rows import PassedOver
from workbell.engine.terms import find_terms, this_process
from workbell.errors import JobsError, StoreError, StoreUnavailable
from workbell.handlers.registry import Registry
from workbell.model.job import RunTerms
from workbell.model.json_text import clean_text
from workbell.model.run import NewRun, Run
from workbell.model.run_defaults import Maker
from workbell.model.schedule import DueSchedule, Overlap, Schedule, ScheduleChange
from workbell.runs.publisher import RunPublisher
from workbell.scheduling.decide import decide, skip_pending
from workbell.scheduling.failing import decide_broken, decide_failed
from workbell.scheduling.request import request_for
from workbell.scheduling.rule import rule_of
from workbell.stores.port import Store

log = logging.getLogger("workbell.scheduler")

BATCH = 500
AHEAD = timedelta(seconds=0.3)  # how long before a tick it is prepared
MOST_AHEAD = 2000
GAP = 0.25  # seconds from a hint to a read: hardly one of them is about a schedule


class PreparedTicks(NamedTuple):
    """Decisions for an instant that is about to come."""

    at: datetime
    due: list[DueSchedule]
    changes: Sequence[ScheduleChange]


class Materialise:
    def __init__(
        self,
        store: Store,
        registry: Registry,
        announce: Callable[[Iterable[Run]], None],
        poll: float,
        publisher: RunPublisher | None = None,
        maker: Callable[[], Maker] = this_process,
    ) -> None:
        self._store = store
        self._publisher = publisher or RunPublisher(lambda: store)
        self._registry = registry
        self._maker = maker
        self._announce = announce
        self._pacing = Pacing(poll, GAP)
        self.waker = self._pacing.waker
        self.hint = self._pacing.hint  # a schedule may have been put, or a run have ended that a tick is waiting for
        self._prepared: PreparedTicks | None = None
        self._next_at: datetime | None = None  # when a schedule is due, as last read
        self._passed: PassedOver[tuple[str, int]] = PassedOver()  # ids and versions that others have locked

    def step(self, now: datetime) -> float:
        """Fire due ticks; return the seconds until the next is due, at most the poll interval."""
        left = self._pacing.left(now)
        if left is not None:
            return left
        if self._fire_prepared(now) or (self._is_due(now) and self.fire_due(now)):
            self._pacing.again()
            return 0
        return self._wait(now)

    def _is_due(self, now: datetime) -> bool:
        """Whether a schedule is due. At a poll this is the only read; when one is known to be due, there is none."""
        if self._next_at is None or self._next_at > now:
            self._next_at = self._store.schedules.next_check()
        return self._next_at is not None and self._next_at <= now

    def _fire_prepared(self, now: datetime) -> bool:
        prepared = self._prepared
        if prepared is None or prepared.at > now:
            return False
        self._prepared = None
        if now - prepared.at >= AHEAD:  # something held us up; what was true then may not be now
            return False
        # All at once: workers that begin with the first of them would be in the way of the rest.
        return bool(self._write(prepared.due, prepared.changes, now))

    def fire_due(self, now: datetime, limit: int | None = None) -> Batch:
        """Fire due ticks, of up to `limit` schedules; more may follow if we fired any."""
        limit = limit or BATCH
        due = self._due(now, limit, now)
        written = self._write(due, self._decide_all(due, now), now)
        left = [one.schedule for one in due if one.schedule.id not in written]
        self._passed.add([(schedule.id, schedule.version) for schedule in left], now)
        return Batch(len(written), bool(written) or len(due) == limit)

    def _wait(self, now: datetime) -> float:
        """Nothing is due, or others have it locked. Shortly before the next tick, prepare it."""
        at, held_until = now + self._pacing.poll, self._passed.until(now)
        if held_until is None:
            if self._next_at is not None and self._next_at <= now:  # another scheduler has fired it
                self._next_at = self._store.schedules.next_check()
            next_at = self._next_at
        else:  # the next check of a schedule that is passed over must not hide those of the others
            next_at = self._store.schedules.next_check(now)
            at = min(at, held_until)
        if next_at is not None and next_at - now > AHEAD:
            at = min(at, next_at - AHEAD)
        elif next_at is not None:
            if self._prepared is None or self._prepared.at != next_at:  # a hint may have brought us here again
                self._prepare(next_at, now)
            at = min(at, next_at)
        self._pacing.again(at)
        return 0  # asked again, with the time that it is then, for how long to sleep

    def _prepare(self, at: datetime, now: datetime) -> None:
        # Where a run is in the way, it must be asked at the tick itself whether it still is.
        found = self._due(at, MOST_AHEAD, now)
        due = [one for one in found if one.blocker is None or one.schedule.options.overlap is Overlap.ALLOW]
        if due:
            changes = self._store.schedules.prepare(self._decide_all(due, at))
            self._prepared = PreparedTicks(at, due, changes)

    def _due(self, at: datetime, limit: int, now: datetime) -> list[DueSchedule]:
        """Schedules that are due at this time, without those that are passed over now."""
        passed = self._passed.at(now)
        return self._store.schedules.due(at, limit, passed) if passed else self._store.schedules.due(at, limit)

    def _decide_all(self, due: Sequence[DueSchedule], now: datetime) -> list[ScheduleChange]:
        known: dict[tuple[str, str], RunTerms] = {}
        maker = self._maker()

        def terms_of(schedule: Schedule) -> RunTerms:
            job = (schedule.tenant, schedule.job)
            if job not in known:
                known[job] = find_terms(self._registry, self._store, *job)
            return known[job]

        def make_run(schedule: Schedule, at: datetime, made: datetime) -> NewRun:
            return request_for(schedule, at, made, maker, terms_of(schedule))

        return [
            self._publisher.before_tick(self._decide(found, now, make_run, terms_of(found.schedule))) for found in due
        ]

    def _decide(
        self,
        found: DueSchedule,
        now: datetime,
        make_run: Callable[[Schedule, datetime, datetime], NewRun],
        terms: RunTerms,
    ) -> ScheduleChange:
        schedule = found.schedule
        try:
            rule = rule_of(schedule)
            if terms.refusal is not None:
                return skip_pending(schedule, rule, now, terms.refusal)
            return decide(schedule, rule, now, blocker=found.blocker, make_run=make_run)
        except StoreError:
            raise
        except JobsError as error:
            log.error("schedule %s of tenant %s cannot be read: %s", schedule.name, schedule.tenant, error)
            return decide_broken(schedule, now, clean_text(str(error), 1000))
        except Exception as error:  # whatever is wrong with this one, the others go on
            log.exception("schedule %s of tenant %s cannot be worked with", schedule.name, schedule.tenant)
            return decide_broken(schedule, now, clean_text(f"{type(error).__name__}: {error}", 1000))

    def _write(self, due: Sequence[DueSchedule], changes: Sequence[ScheduleChange], now: datetime) -> set[str]:
        """Fire these; the ids of the schedules that were ours to fire."""
        if not changes:
            return set()
        try:
            written = self._store.schedules.write(changes)
            self._publisher.ticked([change for change in changes if change.schedule.id in written])
        except StoreUnavailable:
            raise
        except StoreError:
            written = self._write_one_by_one(due, changes, now)
        mine = [change for change in changes if change.schedule.id in written]
        if any(change.runs or change.emits for change in mine):
            self._announce(new.run for change in mine for new in change.runs)
        return written

    def _write_one_by_one(
        self, due: Sequence[DueSchedule], changes: Sequence[ScheduleChange], now: datetime
    ) -> set[str]:
        """One of them cannot be written: find it, note that, and let the others go on."""
        left: StoreError | None = None
        written: set[str] = set()
        for found, change in zip(due, changes, strict=True):
            try:
                if self._store.schedules.write([change]):
                    self._publisher.ticked([change])
                    written.add(change.schedule.id)
            except StoreUnavailable:
                raise
            except StoreError as error:
                schedule = found.schedule
                log.error("schedule %s of tenant %s: no run could be made: %s", schedule.name, schedule.tenant, error)
                failed = decide_failed(change, schedule, now, clean_text(str(error), 1000))
                left = self._write_failed(self._publisher.before_tick(failed)) or left
                written.add(schedule.id)
        if left is not None:
            raise left  # nothing could be noted: wait a little before it is tried again
        return written

    def _write_failed(self, failed: ScheduleChange) -> StoreError | None:
        """With its ticks; without them, if it is they that are refused: then they are in the ledger already."""
        for change in (failed, msgspec.structs.replace(failed, ticks=(), emits=())):
            try:
                if self._store.schedules.write([change]):
                    self._publisher.ticked([change])
                return None
            except StoreUnavailable:
                raise
            except StoreError as error:
                refused = error
        return refused
