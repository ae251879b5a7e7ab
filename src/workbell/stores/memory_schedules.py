"""Schedules and their ticks in dicts: the half of the memory store that is about when, not what."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime

import msgspec

from workbell.errors import StoreError
from workbell.model.event import Event
from workbell.model.run import Added, NewRun, Run, Status
from workbell.model.schedule import DueSchedule, Schedule, ScheduleChange, Tick
from workbell.model.state import Keep, cancel, kept
from workbell.stores.port import Pair, Publisher
from workbell.stores.sql_schedules import ADVANCE, REASON, REPORTED

replace = msgspec.structs.replace

ADVANCED = [name for name in ADVANCE if name not in ("id", "expected", "only_idle")]
REPORTS = ("last_run_status", "last_run_ended_at", "failed_runs")
DEFINED = [name for name in Schedule.__struct_fields__ if name not in ("version", *REPORTS)]


class MemorySchedules:
    """What it shares with the rest of the store is named here and made there."""

    keep: Keep
    publisher: Publisher
    _lock: threading.RLock
    _live: dict[str, Run]
    _finished: dict[str, Run]
    _keys: dict[tuple[str, str], tuple[str, datetime | None]]
    _events: dict[str, Event]
    _event_keys: dict[tuple[str, str, str], str]

    def __init__(self) -> None:
        super().__init__()
        self._schedules: dict[str, Schedule] = {}
        self._ticks: dict[tuple[str, datetime], Tick] = {}

    def _add(self, request: NewRun, ended: list[Pair] | None = None) -> Added:
        raise NotImplementedError

    def _end(self, ended: Sequence[Pair]) -> Sequence[Pair]:
        raise NotImplementedError

    def _add_event(self, event: Event) -> Added:
        raise NotImplementedError

    def request_cancel(self, run_id: str, reason: str) -> bool:
        raise NotImplementedError

    def prepare_schedules(self, changes: Sequence[ScheduleChange]) -> Sequence[ScheduleChange]:
        return changes

    def write_schedules(self, changes: Sequence[ScheduleChange]) -> set[str]:
        with self._lock:
            runs = (dict(self._live), dict(self._finished), dict(self._keys))
            before = (dict(self._schedules), dict(self._ticks))
            events = (dict(self._events), dict(self._event_keys))
            ended: list[Pair] = []
            try:
                written = {change.schedule.id for change in changes if self._change(change, ended)}
            except BaseException:
                self._schedules, self._ticks = before
                self._events, self._event_keys = events
                self._live, self._finished, self._keys = runs
                raise
        self.publisher.written(ended)
        return written

    def _change(self, change: ScheduleChange, ended: list[Pair]) -> bool:
        new, old = change.schedule, self._schedules.get(change.schedule.id)
        if change.expected is None:
            if any((known.tenant, known.name) == (new.tenant, new.name) for known in self._schedules.values()):
                return False
            self._schedules[new.id] = new
        else:
            if old is None or old.version != change.expected or (change.only_idle and self._is_busy(new.id)):
                return False
            fields = DEFINED if change.defines else ADVANCED
            changed = {name: getattr(new, name) for name in fields}
            self._schedules[new.id] = replace(old, version=old.version + 1, **changed)
        if change.cancel_live:
            ended += self._cancel_live(new)
        for request in change.runs:
            self._add(request, ended)
        for tick in change.ticks:
            if (tick.schedule, tick.due) in self._ticks:
                raise StoreError(f"the tick {tick.due} of schedule {tick.schedule} is in the ledger already.")
            self._ticks[tick.schedule, tick.due] = tick
        for event in change.emits:
            self._add_event(event)
        return True

    def _is_busy(self, schedule_id: str) -> bool:
        return any(run.schedule == schedule_id for run in self._live.values())

    def _cancel_live(self, schedule: Schedule) -> Sequence[Pair]:
        now = schedule.last_fire_at or schedule.updated_at
        live = [run for run in self._live.values() if run.schedule == schedule.id]
        for run in live:
            if run.status is Status.RUNNING:
                self.request_cancel(run.id, REASON)
        waiting = [run for run in live if run.status is not Status.RUNNING]
        return self._end([(run, cancel(run, now, reason=REASON, keep=kept(run, self.keep).other)) for run in waiting])

    def _report(self, run: Run) -> None:
        """A run has ended: tell its schedule."""
        schedule = self._schedules.get(run.schedule or "")
        word = REPORTED.get(run.status.value)
        if schedule is None or word is None or run.finished_at is None:
            return
        newer = schedule.last_run_ended_at is None or run.finished_at >= schedule.last_run_ended_at
        self._schedules[schedule.id] = replace(
            schedule,
            failed_runs=schedule.failed_runs + (word == "failed"),
            last_run_status=word if newer else schedule.last_run_status,
            last_run_ended_at=run.finished_at if newer else schedule.last_run_ended_at,
        )

    def delete_schedule(self, schedule_id: str, expected: int | None = None) -> bool:
        with self._lock:
            known = self._schedules.get(schedule_id)
            if known is None or expected not in (None, known.version):
                return False
            del self._schedules[schedule_id]
            return True

    def _delete_ticks(self, before: datetime, limit: int) -> int:
        over = sorted((tick.created_at, key) for key, tick in self._ticks.items() if tick.created_at <= before)
        for _, key in over[:limit]:
            del self._ticks[key]
        return len(over[:limit])

    def due_schedules(
        self, now: datetime, limit: int, passed_over: Sequence[tuple[str, int]] = ()
    ) -> list[DueSchedule]:
        passed = set(passed_over)
        with self._lock:
            due = [
                (schedule.look_at, schedule.id, schedule)
                for schedule in self._schedules.values()
                if schedule.look_at is not None
                and schedule.look_at <= now
                and (schedule.id, schedule.version) not in passed
            ]
            return [DueSchedule(schedule, self._is_busy(schedule.id)) for _, _, schedule in sorted(due)[:limit]]

    def next_look(self, after: datetime | None = None) -> datetime | None:
        with self._lock:
            times = [schedule.look_at for schedule in self._schedules.values() if schedule.look_at is not None]
        return min((at for at in times if after is None or at > after), default=None)

    def find_schedules(self, tenant: str, names: Sequence[str]) -> dict[str, Schedule]:
        with self._lock:
            return {s.name: s for s in self._schedules.values() if s.tenant == tenant and s.name in names}

    def find_schedule(self, schedule_id: str) -> Schedule | None:
        return self._schedules.get(schedule_id)

    def list_schedules(self, tenant: str, *, source: str | None, after: str, limit: int) -> list[Schedule]:
        with self._lock:
            found = [
                schedule
                for schedule in self._schedules.values()
                if schedule.tenant == tenant and schedule.name > after and source in (None, schedule.source)
            ]
        return sorted(found, key=lambda schedule: schedule.name)[:limit]

    def upcoming_schedules(self, tenant: str, limit: int) -> list[Schedule]:
        with self._lock:
            found = [
                (schedule.next_run_at, schedule.name, schedule)
                for schedule in self._schedules.values()
                if schedule.tenant == tenant and schedule.next_run_at is not None and schedule.active
            ]
        return [schedule for _, _, schedule in sorted(found, key=lambda one: one[:2])[:limit]]

    def broken_schedules(self, limit: int) -> list[Schedule]:
        with self._lock:
            found = [s for s in self._schedules.values() if s.broken]
        return sorted(found, key=lambda schedule: (schedule.tenant, schedule.name))[:limit]

    def list_ticks(self, schedule_id: str, *, before: datetime, limit: int) -> list[Tick]:
        with self._lock:
            found = [tick for tick in self._ticks.values() if tick.schedule == schedule_id and tick.due < before]
        return sorted(found, key=lambda tick: tick.due, reverse=True)[:limit]
