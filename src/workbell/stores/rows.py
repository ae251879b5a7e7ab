"""Rows of runs and schedules: which column is which field, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from workbell.model.clock import EPOCH
from workbell.model.run import Attempt, AttemptStatus, Lane, NewRun, Run, Status
from workbell.model.schedule import FireStatus, Schedule, ScheduleKind, ScheduleOptions, Tick, TickOutcome
from workbell.model.state import MOVES, Move, Transition
from workbell.model.unreadable import FAILURES, UnreadableColumns, about
from workbell.stores.access.answers import ANSWER
from workbell.stores.access.audit import AUDIT
from workbell.stores.access.tenants import TENANT
from workbell.stores.access.tokens import TOKEN
from workbell.stores.agents.agents import AGENT
from workbell.stores.event_rows import EVENT_TIMES, fill_event_columns
from workbell.stores.jobs.jobs import JOB
from workbell.stores.notifications.notifications import NOTIFICATION, ReadMark
from workbell.stores.queries import NEW_RUN
from workbell.stores.reading import object_text, written_back
from workbell.stores.subscribers.rows import ENDPOINT, HEALTH, TRIGGER
from workbell.stores.tallies.tallies import TALLY
from workbell.stores.times import to_utc
from workbell.stores.workers.rewinds import REWIND
from workbell.stores.workers.workers import WORKER

if TYPE_CHECKING:
    from workbell.stores.port import LeaseTerms

# The fields of Run that have another name than their column.
FIELDS = {name: f"{name}_text" for name in ("input", "options", "key", "progress", "result")}
FIELDS["user_id"] = "user_number"
_COLUMN = {field: column for column, field in FIELDS.items()}
# The columns of a run, in the order of the fields of Run; those of a live run come first.
FINISHED = [_COLUMN.get(field, field) for field in Run.__struct_fields__]
LIVE = FINISHED[: FINISHED.index("finished_at")]
# The columns of a run that its start does not set: the answer of a claim has no others.
SET_BY_START = ("status", "updated_at", "token", "lease_until", "worker", "started_at")
STARTED = [name for name in LIVE if name not in SET_BY_START]
NOT_IN_HISTORY = {"suspect": "false", "alone": "false", "lease_until": "NULL", "cancel_requested": "false"}
HISTORY = [name for name in FINISHED if name not in NOT_IN_HISTORY]
# The columns of a schedule that its own table has; what its runs reported stands in another.
SCHEDULE = (
    "id tenant name job kind expression timezone options source enabled paused reason version created_at updated_at "
    "look_at next_run_at last_scheduled_at held_tick deferred_until last_run_at last_run_id last_fire_status "
    "last_fire_at last_error run_count scheduler_failures"
).split()
REPORT = "last_run_status last_run_ended_at failed_runs".split()
TICK = "schedule due until count outcome run reason created_at".split()
# The columns of the other parts, by the words that queries have for them.
PARTS: dict[str, Sequence[str]] = {
    "token": TOKEN,
    "tenant": TENANT,
    "audit": AUDIT,
    "answer": ANSWER,
    "notification": NOTIFICATION,
    "read": ReadMark._fields,
    "agent": AGENT,
    "tally": TALLY,
    "worker": WORKER,
    "rewind": REWIND,
    "job": JOB,
    "trigger": TRIGGER,
    "endpoint": ENDPOINT,
    "health": HEALTH,
}
TIMES = EVENT_TIMES | {
    name
    for name in (
        *FINISHED,
        *SCHEDULE,
        *REPORT,
        *TICK,
        *(name for columns in PARTS.values() for name in columns),
        "read_at",
    )
    if name.endswith(("_at", "_until", "_for"))
    or name in ("at", "due", "until", "held_tick", "minute", "failing_since")
}

# In a query: its answer is runs.
RUN_COLUMNS = ("{live}", "{returning}", "{started}", "{finished}", "{canceled}", "{waiting}")

NEW = [column.split()[0] for column in NEW_RUN.split(", ")]  # columns of a new run
# Columns that the end of a run sets; the other columns of history are copied.
OF_END = "status updated_at failures losses crashes started_at error reason finished_at result remove_at".split()
ENDED_WELL = "run_id expected_token started finished result_text removed".split()
SUCCEED = {"from_status": MOVES[Move.SUCCEED].sources[0].value, "to_status": MOVES[Move.SUCCEED].targets[0].value}
UNCHANGED_COLUMNS = [name for name in HISTORY if name not in OF_END]

# A time costs 1.3 µs to write, send and read: most runs were made for the moment at which they were made.
_CLAIMABLE = [f"NULLIF({name}, scheduled_for)" if name == "created_at" else name for name in STARTED]
_STARTED = [f"{column} AS {name}" if column != name else name for column, name in zip(_CLAIMABLE, STARTED, strict=True)]

_MICROSECOND = timedelta(microseconds=1)
_STATUS = {status.value: status for status in Status}
_TRIED = {status.value: status for status in AttemptStatus}
_FIRED = {status.value: status for status in FireStatus}
_schedule_options = msgspec.json.Decoder(ScheduleOptions)


@lru_cache(8192)  # it is read at every tick
def _settings(kind: str, expression: str, timezone: str, stored: str) -> tuple[ScheduleOptions, Mapping[str, str]]:
    """The settings of a schedule, and the columns that cannot be read, each with the reason."""
    from workbell.timing import read_timing
    from workbell.timing.zones import resolve_timezone

    for column, read in (
        ("options", lambda: _checked_options(stored)),
        ("timezone", lambda: resolve_timezone(timezone)),
        ("expression", lambda: read_timing(kind, expression, timezone)),
    ):
        try:
            read()
        except FAILURES as error:
            options = ScheduleOptions() if column == "options" else _schedule_options.decode(stored)
            return options, {column: str(error)}
    return _schedule_options.decode(stored), {}


def _checked_options(stored: str) -> None:
    options = _schedule_options.decode(stored)
    object_text(options.input)
    if options.window is not None:
        from workbell.timing import Window

        Window.parse(*options.window, "UTC")


def to_micros(time: datetime | None) -> int | None:
    """A time as SQLite stores it: whole microseconds since 1970."""
    return None if time is None else (time - EPOCH) // _MICROSECOND


def from_micros(number: int | None) -> datetime | None:
    return None if number is None else EPOCH + timedelta(microseconds=number)


def fill_columns(query: str, *, alias: str = "r.") -> str:
    """Fill the column lists into a query."""
    finished = [NOT_IN_HISTORY.get(name, alias + name) for name in FINISHED]
    return (
        _fill_parts(fill_event_columns(query))
        .replace("{live}", ", ".join(alias + name for name in LIVE))
        .replace("{returning}", ", ".join(LIVE))
        .replace("{waiting}", ", ".join("NULL AS input" if name == "input" else alias + name for name in LIVE))
        .replace("{started}", ", ".join(_STARTED))
        .replace("{claimable}", ", ".join("attempt + 1" if name == "attempt" else name for name in _CLAIMABLE))
        .replace("{finished}", ", ".join(finished))
        .replace("{new_columns}", ", ".join(NEW))
        .replace("{new_values}", ", ".join(":" + name for name in NEW))
        .replace("{columns_of_end}", ", ".join(OF_END))
        .replace("{unchanged_columns}", ", ".join(UNCHANGED_COLUMNS))
        .replace("{unchanged}", ", ".join("run." + name for name in UNCHANGED_COLUMNS))
        .replace("{live_columns}", ", ".join(LIVE))
        .replace("{live_values}", ", ".join(":" + name for name in LIVE))
        .replace("{schedule}", ", ".join("s." + name for name in SCHEDULE))
        .replace("{schedule_columns}", ", ".join(SCHEDULE))
        .replace("{schedule_values}", ", ".join(":" + name for name in SCHEDULE))
        .replace("{schedule_assignments}", ", ".join(f"{name} = :{name}" for name in SCHEDULE if name != "id"))
        .replace("{canceled}", ", ".join(NOT_IN_HISTORY.get(name, name) for name in FINISHED))
        .replace("{finished_columns}", ", ".join(HISTORY))
        .replace("{finished_values}", ", ".join(":" + name for name in HISTORY))
    )


def _fill_parts(query: str) -> str:
    for word, columns in PARTS.items():
        query = query.replace(f"{{{word}_columns}}", ", ".join(columns))
        query = query.replace(f"{{{word}_values}}", ", ".join(f":{name}" for name in columns))
        assigned = ", ".join(f"{name} = :{name}" for name in columns if name != "id")
        query = query.replace(f"{{{word}_assignments}}", assigned)
    return query


def run_with_times(row: Sequence[Any], lanes: Mapping[int, Lane]) -> Run:
    """A row whose times are datetimes already."""
    if row[4].tzinfo is not UTC:
        row = [to_utc(value) if isinstance(value, datetime) else value for value in row]
    return Run(row[0], lanes[row[1]], _STATUS[row[2]], *row[3:])


def run_with_micros(row: Sequence[Any], lanes: Mapping[int, Lane]) -> Run:
    """A row whose times are numbers, and whose booleans are 0 and 1.

    Written out, because this is the slowest part of a claim on SQLite: most times are NULL or equal to another.
    """
    scheduled, created, updated, lease, started, expires = row[4], row[5], row[6], row[14], row[17], row[28]
    scheduled_for = EPOCH + timedelta(microseconds=scheduled)
    created_at = scheduled_for if created == scheduled else EPOCH + timedelta(microseconds=created)
    updated_at = created_at if updated == created else EPOCH + timedelta(microseconds=updated)
    started_at = updated_at if started == updated else from_micros(started)
    rest: Sequence[Any] = row[29:32]
    if len(row) > 32:
        rest = (*rest, from_micros(row[32]), row[33], from_micros(row[34]))
    return Run(  # type: ignore[call-arg]  # mypy takes unpacked slices to be endless
        row[0],
        lanes[row[1]],
        _STATUS[row[2]],
        row[3],
        scheduled_for,
        created_at,
        updated_at,
        *row[7:11],
        bool(row[11]),
        bool(row[12]),
        row[13],
        from_micros(lease),
        row[15],
        bool(row[16]),
        started_at,
        *row[18:28],
        from_micros(expires),
        *rest,
    )


def started_with_times(row: Sequence[Any], lanes: Mapping[int, Lane], terms: LeaseTerms) -> Run:
    """A run that was started on these terms, by a row with the columns STARTED, whose times are datetimes."""
    if row[3].tzinfo is not UTC:
        row = [to_utc(value) if isinstance(value, datetime) else value for value in row]
    return _started(row, lanes[row[1]], terms, row[3], row[4] or row[3], row[22])


def started_with_micros(row: Sequence[Any], lanes: Mapping[int, Lane], terms: LeaseTerms) -> Run:
    """The same by a row whose times are numbers, and whose booleans are 0 and 1."""
    scheduled_for = EPOCH + timedelta(microseconds=row[3])
    created, expires = row[4], row[22]
    created_at = scheduled_for if created is None else EPOCH + timedelta(microseconds=created)
    expires_at = None if expires is None else EPOCH + timedelta(microseconds=expires)
    return _started(row, lanes[row[1]], terms, scheduled_for, created_at, expires_at)


def _started(
    row: Sequence[Any],
    lane: Lane,
    terms: LeaseTerms,
    scheduled_for: datetime,
    created_at: datetime,
    expires_at: datetime | None,
) -> Run:
    worker, now, lease_until, token = terms
    return Run(
        row[0],
        lane,
        Status.RUNNING,
        row[2],
        scheduled_for,
        created_at,
        now,
        row[5],
        row[6],
        row[7],
        row[8],
        bool(row[9]),
        bool(row[10]),
        token,
        lease_until,
        worker,
        bool(row[11]),
        now,
        row[12],
        row[13],
        row[14],
        row[15],
        row[16],
        row[17],
        row[18],
        row[19],
        row[20],
        row[21],
        expires_at,
        row[23],
        row[24],
        row[25],
    )


def new_values(new: NewRun) -> tuple[Any, ...]:
    """The columns of a new run, in the order of NEW, with times as they are.

    Written out, because every run passes here: an `attrgetter` takes 3.2 µs, and this 2.3.
    """
    run = new.run
    return (
        run.id,
        run.lane.id,
        run.status.value,
        run.rank,
        run.scheduled_for,
        run.created_at,
        run.updated_at,
        run.input_text,
        run.options_text,
        run.tag,
        run.key_text,
        run.user_number,
        run.schedule,
        run.event,
        run.retry_of,
        run.rescheduled_from,
        run.accepted_by,
        run.expires_at,
    )


def run_values(run: Run) -> dict[str, Any]:
    """Every column of a run, as it is copied from one store to another."""
    values = {name: getattr(run, FIELDS.get(name, name)) for name in FINISHED}
    values["lane"] = run.lane.id
    values["status"] = run.status.value
    return values


def split_ends(ending: Sequence[Transition]) -> tuple[list[tuple[Any, ...]], Sequence[Transition]]:
    """Transitions that end runs: rows with the columns ENDED_WELL of those that succeeded, and the others.

    Times are microseconds in both engines: the text of a time costs three times as much.
    """
    well = [
        (
            change.run_id,
            change.expected_token,
            to_micros(change.started_at),
            to_micros(change.finished_at),
            change.result_text,
            to_micros(change.remove_at),
        )
        for change in ending
        if change.move is Move.SUCCEED
    ]
    return well, [change for change in ending if change.move is not Move.SUCCEED] if len(well) < len(ending) else ()


def attempt_values(attempt: Attempt) -> dict[str, Any]:
    values = msgspec.structs.asdict(attempt) | {"status": attempt.status.value}
    values["result"] = values.pop("result_text")
    return values


def attempt_from(row: Sequence[Any]) -> Attempt:
    status = _TRIED.get(row[2])
    found = Attempt(row[0], row[1], status or AttemptStatus.LOST, *row[3:])
    if status is not None:
        return found
    error = f"its stored status {row[2]!r:.60} cannot be read. {found.error or ''}".rstrip()
    return msgspec.structs.replace(found, error=error)


def schedule_values(schedule: Schedule) -> dict[str, Any]:
    values = {name: getattr(schedule, name) for name in (*SCHEDULE, *REPORT)}
    fired = schedule.last_fire_status
    values |= {
        "kind": schedule.kind.value,
        "options": msgspec.json.encode(schedule.options).decode(),
        "last_fire_status": None if fired is None else fired.value,
    }
    return written_back(values, schedule.unreadable)


def schedule_from(row: Sequence[Any]) -> Schedule:
    """From the columns of a schedule, with those of its report behind them or without."""
    values = dict(zip((*SCHEDULE, *REPORT), row, strict=False))
    fired = values["last_fire_status"]
    values["kind"] = ScheduleKind(values["kind"])
    options, failed = _settings(values["kind"].value, values["expression"], values["timezone"], values["options"])
    stored = {"options": values["options"]} if "options" in failed else {}
    # Garbage here harms nothing: it tells of the last tick, and the next one overwrites it.
    values["last_fire_status"] = _FIRED.get(fired)
    if failed:  # shown as broken from now on, and not only when it is due; the others go on
        unreadable = UnreadableColumns(about(failed, "put the schedule again."), stored)
        values |= {"unreadable": unreadable, "last_error": unreadable.sentence}
    values |= {"options": options, "enabled": bool(values["enabled"]), "paused": bool(values["paused"])}
    if values["created_at"].tzinfo is not UTC:
        values |= {name: to_utc(value) for name, value in values.items() if name in TIMES}
    return Schedule(**values)


def tick_values(tick: Tick) -> dict[str, Any]:
    return msgspec.structs.asdict(tick) | {"outcome": tick.outcome.value}


def tick_from(row: Sequence[Any]) -> Tick:
    values = dict(zip(TICK, row, strict=True))
    values["outcome"] = TickOutcome(values["outcome"])
    if values["due"].tzinfo is not UTC:
        values |= {name: to_utc(value) for name, value in values.items() if name in TIMES}
    return Tick(**values)
