"""The verbs about schedules that every SQL store has alike: a change with its ticks and runs is one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from workbell.model import state
from workbell.model.event import Event
from workbell.model.run import Added, Lane, NewRun, Run, Status
from workbell.model.schedule import DueSchedule, Schedule, ScheduleChange, Tick
from workbell.model.state import Keep, Transition
from workbell.stores import rows
from workbell.stores.database import Row
from workbell.stores.port import Pair, Publisher
from workbell.stores.session import Session
from workbell.stores.statements import Tag, replaced_tag

T = TypeVar("T")

ADVANCE = (
    "id expected only_idle look_at next_run_at last_scheduled_at held_tick deferred_until last_run_at last_run_id "
    "last_fire_status last_fire_at last_error run_count scheduler_failures"
).split()
REPORTED = {Status.SUCCEEDED.value: "success", Status.FAILED.value: "failed"}
REASON = "a later tick of its schedule takes its place"


class SqlSchedules(ABC):
    """Schedules and their ticks over a `Session`."""

    keep: Keep
    publisher: Publisher

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    @abstractmethod
    def prepare_lanes(self, new: Sequence[NewRun]) -> Sequence[Lane]:
        """Lanes that must still be made in the transaction that makes these runs."""

    @abstractmethod
    def spell_runs(self, new: Sequence[NewRun]) -> Any:
        """Runs without keys as `Session.insert_spelled` takes them."""

    @abstractmethod
    def _ensure_lanes(self, session: Session, lanes: Iterable[Lane]) -> None: ...

    @abstractmethod
    def held_tags(self, session: Session, new: Sequence[NewRun]) -> set[Tag]: ...

    @abstractmethod
    def _add(
        self, session: Session, new: Sequence[NewRun], unknown: Sequence[Lane]
    ) -> tuple[list[Added], list[Pair]]: ...

    @abstractmethod
    def _runs(self, session: Session, found: Iterable[Row]) -> list[Run]: ...

    @abstractmethod
    def apply_in(self, session: Session, transitions: Sequence[Transition]) -> set[str]: ...

    @abstractmethod
    def tell_in(self, session: Session, told: Iterable[Event]) -> None: ...

    @abstractmethod
    def note_lanes(self, lanes: Sequence[Lane]) -> None:
        """These are committed now."""

    # Writing

    def prepare_schedules(self, changes: Sequence[ScheduleChange]) -> Sequence[ScheduleChange]:
        """Spell changes out ahead of time, so that the write has less to do."""
        return changes if isinstance(changes, Spelled) else Spelled(self, changes)

    def write_schedules(self, changes: Sequence[ScheduleChange]) -> set[str]:
        if not changes:
            return set()
        spelled = changes if isinstance(changes, Spelled) else Spelled(self, changes)
        unknown = self.prepare_lanes([*spelled.runs, *spelled.replacing])
        written, ended = self.write(lambda session: self._write_schedules(session, spelled, unknown))
        self.note_lanes(unknown)
        self.publisher.written(ended)
        return written

    def locked_live(self, _session: Session, _schedules: Sequence[str]) -> set[str]:
        """Those of these schedules with a live run that another transaction has locked. None, where all writes are
        one after the other."""
        return set()

    def _write_schedules(
        self, session: Session, changes: Spelled, unknown: Sequence[Lane]
    ) -> tuple[set[str], list[Pair]]:
        """The schedules that were written, and the waiting runs that their ticks have ended."""
        ending = [change.schedule.id for change in changes if change.cancel_live and not change.defines]
        locked = self.locked_live(session, ending) if ending else set()
        if changes.replacing:
            held = self.held_tags(session, changes.replacing)
            locked |= {
                change.schedule.id for change in changes if any(replaced_tag(run) in held for run in change.runs)
            }
        if locked:  # these ticks would wait for somebody else's transaction, and all others with them
            changes = Spelled(self, [change for change in changes if change.schedule.id not in locked])
        written = {row[0] for change in changes if change.defines for row in _define(session, change)}
        if changes.advancing:
            written |= {row[0] for row in session.rows("advance", **changes.advancing)}
        if len(written) < len(changes):  # another scheduler had some of them
            changes = Spelled(self, [change for change in changes if change.schedule.id in written])
        ended = [pair for change in changes if change.cancel_live for pair in self._end_live(session, change.schedule)]
        if unknown and (changes.runs or changes.replacing):
            self._ensure_lanes(session, unknown)
        if changes.runs:
            session.insert_spelled(changes.run_rows)
        if changes.replacing:
            ended += self._add(session, changes.replacing, ())[1]
        if changes.ticks:
            session.rows("add_ticks", **changes.ticks)
        told = [event for change in changes for event in change.emits]
        if told:
            self.tell_in(session, told)
        return written, ended

    def _end_live(self, session: Session, schedule: Schedule) -> Sequence[Pair]:
        """End the live runs of a schedule: what waits at once, what runs by asking its handler."""
        now = schedule.last_fire_at or schedule.updated_at
        live = self._runs(session, session.rows("live_of_schedule", id=schedule.id))
        waiting = [run for run in live if run.status is not Status.RUNNING]
        keep = self.keep
        decided = [(run, state.cancel(run, now, reason=REASON, keep=state.kept(run, keep).other)) for run in waiting]
        published = self.publisher.publish(decided)
        ended = self.apply_in(session, [change for _, change in published])
        for run in live:
            if run.id not in ended:  # running, or claimed at this very moment
                session.rows("request_cancel", id=run.id, yes=True, reason=REASON)
        return [pair for pair in published if pair[0].id in ended]

    def delete_schedule(self, schedule_id: str, expected: int | None = None) -> bool:
        def work(session: Session) -> bool:
            if not session.rows("delete_schedule", id=schedule_id, expected=expected):
                return False
            session.rows("delete_report", id=schedule_id)
            return True

        return self.write(work)

    def report(self, session: Session, gone: Sequence[Row], ended_at: Mapping[str, datetime | None]) -> None:
        """Runs of schedules have ended: tell the schedules, in the order of their ids (two such writes may meet)."""
        told: dict[str, tuple[datetime, str, int]] = {}
        for row in gone:
            schedule, word, at = row[4], REPORTED.get(row[5]), ended_at[row[0]]
            if schedule is None or word is None or at is None:
                continue
            last, status, failed = told.get(schedule, (at, word, 0))
            status = word if at >= last else status
            told[schedule] = (max(at, last), status, failed + (word == "failed"))
        if told:
            columns = ("schedule", "last_run_status", "last_run_ended_at", "failed_runs")
            values = [(schedule, *(told[schedule][place] for place in (1, 0, 2))) for schedule in sorted(told)]
            session.rows("report", **self.spell(columns, values))

    # Reading

    def due_schedules(
        self, now: datetime, limit: int, passed_over: Sequence[tuple[str, int]] = ()
    ) -> list[DueSchedule]:
        if passed_over:
            beside = self.spell(("id", "version"), passed_over)
            found = self.read(lambda session: session.rows("due_schedules_beside", now=now, limit=limit, **beside))
        else:
            found = self.read(lambda session: session.rows("due_schedules", now=now, limit=limit))
        return [DueSchedule(rows.schedule_from(row[:-1]), bool(row[-1])) for row in found]

    def next_look(self, after: datetime | None = None) -> datetime | None:
        if after is None:
            found = self.read(lambda session: session.rows("next_look"))
        else:
            found = self.read(lambda session: session.rows("next_look_after", after=after))
        return found[0][0] if found else None

    def find_schedules(self, tenant: str, names: Sequence[str]) -> dict[str, Schedule]:
        found = self.read(lambda session: session.rows("find_schedules", tenant=tenant, names=list(names)))
        return {schedule.name: schedule for schedule in map(rows.schedule_from, found)}

    def find_schedule(self, schedule_id: str) -> Schedule | None:
        found = self.read(lambda session: session.rows("find_schedule", id=schedule_id))
        return rows.schedule_from(found[0]) if found else None

    def list_schedules(self, tenant: str, *, source: str | None, after: str, limit: int) -> list[Schedule]:
        values: dict[str, Any] = {"tenant": tenant, "after": after, "limit": limit}
        if source is None:
            found = self.read(lambda session: session.rows("list_schedules", **values))
        else:
            found = self.read(lambda session: session.rows("list_schedules_of", source=source, **values))
        return [rows.schedule_from(row) for row in found]

    def upcoming_schedules(self, tenant: str, limit: int) -> list[Schedule]:
        found = self.read(lambda session: session.rows("upcoming_schedules", tenant=tenant, limit=limit))
        return [rows.schedule_from(row) for row in found]

    def broken_schedules(self, limit: int) -> list[Schedule]:
        found = self.read(lambda session: session.rows("broken_schedules", limit=limit))
        return [rows.schedule_from(row) for row in found]

    def list_ticks(self, schedule_id: str, *, before: datetime, limit: int) -> list[Tick]:
        found = self.read(lambda session: session.rows("ticks", id=schedule_id, before=before, limit=limit))
        return [rows.tick_from(row) for row in found]


class Spelled(list[ScheduleChange]):
    """Changes, and the parameters of the statements that write them."""

    def __init__(self, store: SqlSchedules, changes: Sequence[ScheduleChange]) -> None:
        super().__init__(changes)
        advancing = [_advance_values(change) for change in changes if not change.defines]
        ticks = [_tick_values(tick) for change in changes for tick in change.ticks]
        self.runs = [request for change in changes for request in change.runs if not request.replace_tag]
        self.replacing = [request for change in changes for request in change.runs if request.replace_tag]
        self.advancing = store.spell(ADVANCE, advancing) if advancing else {}
        self.ticks = store.spell(rows.TICK, ticks) if ticks else {}
        self.run_rows = store.spell_runs(self.runs) if self.runs else None


def _tick_values(tick: Tick) -> list[Any]:
    values = rows.tick_values(tick)
    return [values[name] for name in rows.TICK]


def _define(session: Session, change: ScheduleChange) -> list[Row]:
    values = rows.schedule_values(change.schedule)
    own = {name: values[name] for name in rows.SCHEDULE}
    if change.expected is None:
        return session.rows("add_schedule", **own)
    return session.rows("define_schedule", **(own | {"expected": change.expected, "version": change.expected + 1}))


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
