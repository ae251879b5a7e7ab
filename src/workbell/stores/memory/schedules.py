"""Schedules and the ledger of their ticks, in dicts."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime

import msgspec

from workbell.errors import StoreError
from workbell.model.run import Run, Status
from workbell.model.schedule import DueSchedule, Schedule, ScheduleChange, Tick, is_overlap
from workbell.model.state import cancel, retention_of
from workbell.stores.memory.runs import MemoryRuns
from workbell.stores.memory.state import State
from workbell.stores.publisher import Pair
from workbell.stores.schedules.schedules import ADVANCE, REASON

replace = msgspec.structs.replace

ADVANCED = [name for name in ADVANCE if name not in ("id", "expected", "only_idle")]
REPORTS = ("last_run_status", "last_run_ended_at", "failed_runs")
DEFINED = [name for name in Schedule.__struct_fields__ if name not in ("version", *REPORTS)]


class MemorySchedules:
    """The part `schedules`."""

    def __init__(self, state: State, runs: MemoryRuns) -> None:
        self._state = state
        self._runs = runs

    def prepare(self, changes: Sequence[ScheduleChange]) -> Sequence[ScheduleChange]:
        return changes

    def write(self, changes: Sequence[ScheduleChange]) -> set[str]:
        with self._state.writing() as replaced:
            return {change.schedule.id for change in changes if self._change(change, replaced)}

    def _change(self, change: ScheduleChange, replaced: builtins.list[Pair]) -> bool:
        """Write a change if its guard holds. Its events are dropped: this store has no part for events."""
        new, schedules, ticks = change.schedule, self._state.schedules, self._state.ticks
        old = schedules.get(new.id)
        if change.expected is None:
            if any((known.tenant, known.name) == (new.tenant, new.name) for known in schedules.values()):
                return False
            schedules[new.id] = new
        else:
            if old is None or old.version != change.expected or (change.only_idle and self._overlaps(new.id)):
                return False
            changed = {name: getattr(new, name) for name in (DEFINED if change.defines else ADVANCED)}
            schedules[new.id] = replace(old, version=old.version + 1, **changed)
        if change.cancel_live:
            self._cancel_live(new, replaced)
        for request in change.runs:
            self._runs.add_one(request, replaced)
        for tick in change.ticks:
            if (tick.schedule, tick.due) in ticks:
                raise StoreError(f"the tick {tick.due} of schedule {tick.schedule} is in the ledger already.")
            ticks[tick.schedule, tick.due] = tick
        return True

    def _overlaps(self, schedule_id: str) -> builtins.list[Run]:
        """The runs that are in the way of its ticks."""
        return [run for run in self._state.live.values() if run.schedule == schedule_id and is_overlap(run)]

    def _cancel_live(self, schedule: Schedule, replaced: builtins.list[Pair]) -> None:
        now, keep = schedule.last_fire_at or schedule.updated_at, self._state.keep
        live = self._overlaps(schedule.id)
        for run in live:
            self._runs.request_cancel(run.id, REASON)
        waiting = [run for run in live if run.status is not Status.RUNNING]
        self._runs.end(
            [(run, cancel(run, now, reason=REASON, keep=retention_of(run, keep).other)) for run in waiting], replaced
        )

    def delete(self, schedule_id: str, expected: int | None = None) -> bool:
        with self._state.lock:
            known = self._state.schedules.get(schedule_id)
            if known is None or expected not in (None, known.version):
                return False
            del self._state.schedules[schedule_id]
            return True

    def prune(self, before: datetime, limit: int) -> int:
        """Remove ticks that are past their time; their number."""
        with self._state.lock:
            ticks = self._state.ticks
            over = sorted((tick.created_at, key) for key, tick in ticks.items() if tick.created_at <= before)[:limit]
            for _, key in over:
                del ticks[key]
            return len(over)

    def due(self, now: datetime, limit: int, passed_over: Sequence[tuple[str, int]] = ()) -> builtins.list[DueSchedule]:
        passed = set(passed_over)
        with self._state.lock:
            due = [
                (one.look_at, one.id)
                for one in self._state.schedules.values()
                if one.look_at is not None and one.look_at <= now and (one.id, one.version) not in passed
            ]
            first = [self._state.schedules[schedule_id] for _, schedule_id in sorted(due)[:limit]]
            return [DueSchedule(one, next((run.id for run in self._overlaps(one.id)), None)) for one in first]

    def next_check(self, after: datetime | None = None) -> datetime | None:
        times = [one.look_at for one in self._every() if one.look_at is not None]
        return min((at for at in times if after is None or at > after), default=None)

    def find(self, tenant: str, names: Sequence[str]) -> dict[str, Schedule]:
        return {one.name: one for one in self._every() if one.tenant == tenant and one.name in names}

    def get(self, schedule_id: str) -> Schedule | None:
        return self._state.schedules.get(schedule_id)

    def list(self, tenant: str, *, source: str | None, after: str, limit: int) -> builtins.list[Schedule]:
        found = [
            one for one in self._every() if one.tenant == tenant and one.name > after and source in (None, one.source)
        ]
        return sorted(found, key=lambda one: one.name)[:limit]

    def ticks(self, schedule_id: str, *, before: datetime, limit: int) -> builtins.list[Tick]:
        with self._state.lock:
            found = [tick for tick in self._state.ticks.values() if tick.schedule == schedule_id and tick.due < before]
        return sorted(found, key=lambda tick: tick.due, reverse=True)[:limit]

    def _every(self) -> builtins.list[Schedule]:
        with self._state.lock:
            return [*self._state.schedules.values()]
