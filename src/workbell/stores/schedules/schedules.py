"""Schedules in an SQL database: a change with its ticks and runs is one write."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from workbell.errors import StoreError
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.model.schedule import DueSchedule, Schedule, ScheduleChange, Tick
from workbell.model.state import Retention
from workbell.stores import flows, rows
from workbell.stores.database import Batch, Conflict, Database, Dialect, Rows, Statement, read_rows, write_rows
from workbell.stores.events.adding import add_events
from workbell.stores.flows import Ask, Do, Flow
from workbell.stores.pending_entry import write_action
from workbell.stores.publisher import Pair
from workbell.stores.rows import TICK
from workbell.stores.runs.adding import Replacing, Writing, add_runs, make_room, read_replaced, replaced_tag
from workbell.stores.runs.lanes import Lanes, lanes_from
from workbell.stores.runs.making import Making

log = logging.getLogger("workbell.engine")

ADVANCE = (
    "id expected only_idle look_at next_run_at last_scheduled_at held_tick deferred_until last_run_at last_run_id "
    "last_fire_status last_fire_at last_error run_count scheduler_failures"
).split()
REASON = "a later tick of its schedule replaces it"
PART = 250  # fewer changes are not worth a second connection
EACH = 3  # statements that a definition takes: it is a guard, and may make a lane
ROUND = 500  # runs in the way of a tick that end in its write; of more, the others end ahead of it
MOST_ROUNDS = 2000  # ahead of one tick: a million runs; of more, the next check of the schedule goes on
TRIES = 20  # of a change whose guards refuse: each time another process has written


class PreparedChanges(list[ScheduleChange]):
    """Changes, with the parts of the batches that write them, ready to be sent."""

    def __init__(
        self, changes: Sequence[ScheduleChange], parts: Sequence[tuple[Sequence[ScheduleChange], Batch]]
    ) -> None:
        super().__init__(changes)
        self.parts = parts


class StoredSchedules:
    """The schedules of one database. See `Schedules` in the port."""

    def __init__(self, database: Database, lanes: Lanes, making: Making, keep: Retention) -> None:
        self._database = database
        self._lanes = lanes
        self._making = making
        self._keep = keep

    # Writing

    def prepare(self, changes: Sequence[ScheduleChange]) -> Sequence[ScheduleChange]:
        """Bind changes ahead of time, so that the write has less to do."""
        if isinstance(changes, PreparedChanges):
            return changes
        plain = [change for change in changes if _is_plain(change)]
        return PreparedChanges(changes, [(part, self._bound(part)) for part in self._parts(plain)])

    def _bound(self, changes: Sequence[ScheduleChange]) -> Batch:
        dialect = self._database.dialect
        return [one if one.query == "add_runs" else dialect.bound(one) for one in _advancing(dialect, changes)]

    def _parts(self, plain: Sequence[ScheduleChange]) -> list[Sequence[ScheduleChange]]:
        """Where several can write at once, many changes go on two connections: a thousand ticks in 38 ms and not in 60
        (medians). Each part is whole by itself, the two need not be."""
        if self._database.dialect.one_writer or len(plain) <= PART:
            return [plain] if plain else []
        half = len(plain) // 2
        return [plain[:half], plain[half:]]

    def write(self, changes: Sequence[ScheduleChange]) -> set[str]:
        """Changes that only advance schedules go in one write, each if nobody else has it. Others have a write of
        their own: it must be known that a change happens before runs are ended or events published for it.

        If one of these writes fails, those that succeeded are still the answer: the caller must publish them. It raises
        if none did.
        """
        prepared = self.prepare(changes)
        others = [change for change in changes if not _is_plain(change)]
        written: set[str] = set()
        try:
            self._write_others(others, written)
            if isinstance(prepared, PreparedChanges) and prepared.parts:
                self._advance_all(prepared.parts, written)
        except StoreError as error:
            if not written:
                raise
            log.warning("%d of %d changes of schedules could be written: %s", len(written), len(changes), error)
        return written

    def _advance_all(self, parts: Sequence[tuple[Sequence[ScheduleChange], Batch]], written: set[str]) -> None:
        first, *more = parts
        if not more:
            self._advance(*first, written)
            return
        with ThreadPoolExecutor(1, thread_name_prefix="workbell-ticks") as thread:
            second = thread.submit(self._advance, *more[0], written)
            self._advance(*first, written)
        second.result()

    def _advance(self, changes: Sequence[ScheduleChange], batch: Batch, written: set[str]) -> None:
        lanes = self._lanes.prepare([request for change in changes for request in change.runs])
        making = self._lanes.statements(lanes)
        try:
            answers = self._database.write([*making, *batch])
        except Conflict:
            self._advance_rest(changes, written)
            return
        self._lanes.note(lanes)
        written.update([row[0] for row in answers[len(making)]])

    def _advance_rest(self, changes: Sequence[ScheduleChange], written: set[str]) -> None:
        """Those of these changes that nobody else has made: together, or else one by one."""
        found = read_rows(self._database, "schedule_versions", ids=[change.schedule.id for change in changes])
        versions = {row[0]: row[1] for row in found}
        left = [change for change in changes if versions.get(change.schedule.id) == change.expected]
        if left and len(left) < len(changes):
            self._advance(left, _advancing(self._database.dialect, left), written)
        else:
            self._write_each(left, written)

    def _write_each(self, changes: Sequence[ScheduleChange], written: set[str]) -> None:
        for change in changes:
            if self._write_alone([change]):
                written.add(change.schedule.id)

    def _write_others(self, changes: Sequence[ScheduleChange], written: set[str]) -> None:
        """All at once if that can be, which is much quicker for many new definitions; else one by one."""
        most = self._database.dialect.most_statements // EACH
        if len(changes) > most:
            for start in range(0, len(changes), most):
                self._write_others(changes[start:][:most], written)
            return
        many = len(changes) > 1 and all(change.defines and not change.cancel_live for change in changes)
        if many and self._write_alone(changes):
            written.update([change.schedule.id for change in changes])
        else:
            self._write_each(changes, written)

    def _write_alone(self, changes: Sequence[ScheduleChange]) -> bool:
        lanes = self._lanes.prepare([request for change in changes for request in change.runs])
        writing = _writing(changes, self._making.replacing(waits=False), self._keep, self._lanes.statements(lanes))
        ended = flows.run(self._database, writing, written=self._making.publisher.written)
        if ended is None:
            return False
        self._lanes.note(lanes)
        self._making.publisher.written(ended)
        return True

    def delete(self, schedule_id: str, expected: int | None = None) -> bool:
        gone = Statement("delete_schedule", {"id": schedule_id, "expected": expected}, exactly=1)
        try:
            write_action(self._database, [gone, Statement("delete_report", {"id": schedule_id})])
        except Conflict:
            return False
        return True

    def prune(self, before: datetime, limit: int) -> int:
        """Remove ticks whose retention is over."""
        return len(write_rows(self._database, "delete_ticks", before=before, limit=limit))

    # Reading

    def due(self, now: datetime, limit: int, passed_over: Sequence[tuple[str, int]] = ()) -> builtins.list[DueSchedule]:
        if passed_over:
            beside = Rows(("id", "version"), passed_over)
            found = read_rows(self._database, "due_schedules_beside", now=now, limit=limit, rows=beside)
        else:
            found = read_rows(self._database, "due_schedules", now=now, limit=limit)
        return [DueSchedule(rows.schedule_from(row[:-1]), row[-1]) for row in found]

    def next_check(self, after: datetime | None = None) -> datetime | None:
        if after is None:
            found = read_rows(self._database, "next_check")
        else:
            found = read_rows(self._database, "next_check_after", after=after)
        return found[0][0] if found else None

    def find(self, tenant: str, names: Sequence[str]) -> dict[str, Schedule]:
        found = read_rows(self._database, "find_schedules", tenant=tenant, names=list(names))
        return {schedule.name: schedule for schedule in map(rows.schedule_from, found)}

    def get(self, schedule_id: str) -> Schedule | None:
        found = read_rows(self._database, "find_schedule", id=schedule_id)
        return rows.schedule_from(found[0]) if found else None

    def list(self, tenant: str, *, source: str | None, after: str, limit: int) -> builtins.list[Schedule]:
        values: dict[str, Any] = {"tenant": tenant, "after": after, "limit": limit}
        if source is None:
            found = read_rows(self._database, "list_schedules", **values)
        else:
            found = read_rows(self._database, "list_schedules_of", source=source, **values)
        return [rows.schedule_from(row) for row in found]

    def ticks(self, schedule_id: str, *, before: datetime, limit: int) -> builtins.list[Tick]:
        found = read_rows(self._database, "ticks", id=schedule_id, before=before, limit=limit)
        return [rows.tick_from(row) for row in found]


def _is_plain(change: ScheduleChange) -> bool:
    """Whether a change only advances a schedule, with ticks and runs."""
    if change.defines or change.cancel_live or change.emits:
        return False
    return not any(request.replace_tag for request in change.runs)


def _advancing(dialect: Dialect, changes: Sequence[ScheduleChange]) -> list[Statement]:
    """Advance schedules, with their ticks and runs.

    With one writer at a time, all of them or none. Where another process advances some at the same time, each writes
    what it took first: if both started again, they could do so forever.
    """
    whole = dialect.one_writer
    advanced = Rows(ADVANCE, [_advance_values(change) for change in changes])
    batch = [Statement("advance", {"rows": advanced}, exactly=len(changes) if whole else None)]
    runs = [request for change in changes for request in change.runs]
    if runs:
        batch.append(add_runs(runs, "add_runs" if whole else "add_advanced_runs"))
    return batch + _ticks(changes, "add_ticks" if whole else "add_advanced_ticks")


def _ticks(changes: Sequence[ScheduleChange], query: str = "add_ticks") -> list[Statement]:
    listed = [_tick_values(tick) for change in changes for tick in change.ticks]
    return [Statement(query, {"rows": Rows(TICK, listed)})] if listed else []


def _tick_values(tick: Tick) -> list[Any]:
    values = rows.tick_values(tick)
    return [values[name] for name in TICK]


def _writing(
    changes: Sequence[ScheduleChange], replacing: Replacing, keep: Retention, lanes: Sequence[Statement]
) -> Flow[builtins.list[Pair] | None]:
    """All of these changes, or none; the waiting runs that they have ended. None: another process was first, or locks
    a run or a tag; waiting for that would delay all other schedules."""
    for _ in range(TRIES):
        batch = [*lanes, *(_deciding(change) for change in changes)]
        ended: builtins.list[Pair] = []
        for change in changes:
            if change.cancel_live:
                live = yield from _last_live(change, replacing, keep)
                if live is None:
                    return None
                pairs, ending = _ending_all(change.schedule, live, replacing, keep)
                batch += ending
                ended += pairs
        requests = [request for change in changes for request in change.runs]
        plain = [request for request in requests if replaced_tag(request) is None]
        batch += [add_runs(plain)] if plain else []
        seen = yield from read_replaced(requests, replacing.dialect)
        unchanged = [_unchanged(change) for change in changes if change.expected is not None]
        try:
            seen = yield from make_room(requests, seen, replacing, unchanged)
        except Conflict:
            return None
        writing = Writing(replacing, seen)
        batch += writing.batch([request for request in requests if replaced_tag(request) is not None])
        batch += _ticks(changes)
        emitted = [event for change in changes for event in change.emits]
        batch += [add_events(emitted)] if emitted else []
        try:
            yield Do(batch)
        except Conflict as conflict:
            if conflict.query is None:  # a tick that is in the ledger already
                raise
            if conflict.query in ("add_schedule", "define_schedule", "advance", "try_tag"):
                return None
        else:
            return ended + writing.ended
    return None


def _deciding(change: ScheduleChange) -> Statement:
    if not change.defines:
        return Statement("advance", {"rows": Rows(ADVANCE, [_advance_values(change)])}, exactly=1)
    values = rows.schedule_values(change.schedule)
    own = {name: values[name] for name in rows.SCHEDULE}
    if change.expected is None:
        return Statement("add_schedule", own, exactly=1)
    return Statement("define_schedule", own | {"expected": change.expected, "version": change.expected + 1}, exactly=1)


def _unchanged(change: ScheduleChange) -> Statement:
    """Guard: nobody else has advanced or changed the schedule."""
    values = {"id": change.schedule.id, "expected": change.expected}
    return Statement("unchanged_schedule", values, exactly=1)


def _last_live(change: ScheduleChange, replacing: Replacing, keep: Retention) -> Flow[builtins.list[Run] | None]:
    """The runs that are in the way of a schedule's ticks, after all but one round of them were ended or asked to end.

    There may be any number of them. A round is a write of its own, guarded by the version, and stays if the write of
    the tick fails. None: another process was first, or locks one of them.
    """
    guards = [] if change.expected is None else [_unchanged(change)]
    for _ in range(MOST_ROUNDS):
        live = yield from _live(change.schedule, replacing, locked=not change.defines)
        if live is None or len(live) <= ROUND:
            return live
        ended, batch = _ending_all(change.schedule, live[:ROUND], replacing, keep)
        try:
            yield Do([*guards, *batch], ended)
        except Conflict as conflict:
            if conflict.query == "unchanged_schedule":
                return None  # else others have moved some of them: the next round reads again
    return None


def _live(schedule: Schedule, replacing: Replacing, *, locked: bool) -> Flow[builtins.list[Run] | None]:
    """Runs that are in the way of a schedule's ticks: a round and one more; None if another transaction locks one."""
    dialect = replacing.dialect
    (found,) = yield Ask([Statement("overlaps_of", {"id": schedule.id, "limit": ROUND + 1})])
    if not found:
        return []
    if locked and not dialect.one_writer:
        (blocked,) = yield Ask([Statement("locked_runs", {"ids": [row[0] for row in found]})])
        if blocked:
            return None
    (lanes,) = yield Ask([Statement("find_lanes", {"ids": sorted({row[1] for row in found})})])
    known = lanes_from(lanes)
    return [dialect.make_run(row, known) for row in found]


def _ending_all(
    schedule: Schedule, live: Sequence[Run], replacing: Replacing, keep: Retention
) -> tuple[Sequence[Pair], Batch]:
    """The ends of those of these runs that wait, and the statements that write them and ask the others to end."""
    pairs = _ending(schedule, live, keep, replacing.publish)
    batch = list(replacing.moving([each for _, each in pairs])) if pairs else []
    return pairs, batch + [_ask_to_end(run) for run in live if run.status is Status.RUNNING]


def _ending(
    schedule: Schedule,
    live: Sequence[Run],
    keep: Retention,
    publish: Callable[[Sequence[Pair]], Sequence[Pair]],
) -> Sequence[Pair]:
    """End those of these runs that wait."""
    now = schedule.last_fire_at or schedule.updated_at
    waiting = [run for run in live if run.status is not Status.RUNNING]
    decided = [
        (run, state.cancel(run, now, reason=REASON, keep=state.retention_of(run, keep).other)) for run in waiting
    ]
    return publish(decided) if decided else []


def _ask_to_end(run: Run) -> Statement:
    """Request a cancel of the running ones."""
    return Statement("request_cancel", {"id": run.id, "yes": True, "reason": REASON})


def _advance_values(change: ScheduleChange) -> list[Any]:
    schedule = change.schedule
    fired = schedule.last_fire_status
    return [
        schedule.id,
        change.expected,
        change.only_idle,
        schedule.look_at,
        schedule.next_run_at,
        schedule.last_scheduled_at,
        schedule.held_tick,
        schedule.deferred_until,
        schedule.last_run_at,
        schedule.last_run_id,
        None if fired is None else fired.value,
        schedule.last_fire_at,
        schedule.last_error,
        schedule.run_count,
        schedule.scheduler_failures,
    ]


def loading(schedules: Sequence[Schedule], ticks: Sequence[Tick]) -> Batch:
    """Schedules and ticks of another store."""
    batch = []
    for schedule in schedules:
        values = rows.schedule_values(schedule)
        batch.append(Statement("load_schedule", {name: values[name] for name in rows.SCHEDULE}))
        if schedule.last_run_status is not None:
            report = {name: values[name] for name in rows.REPORT}
            batch.append(Statement("load_report", {"id": schedule.id, **report}))
    return batch + [Statement("load_tick", rows.tick_values(tick)) for tick in ticks]
