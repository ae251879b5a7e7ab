"""Kumofire's rows as ours: a definition as a job, a schedule as a schedule, a run as a run with the same id. Pure.

What cannot be taken over raises CannotTake with the reason; what is taken over with a difference comes with a note.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from workbell.errors import InvalidOption, JobsError, WorkbellError
from workbell.model.ids import id_of
from workbell.model.job import API_SOURCE, BUILT_IN, CODE_SOURCE, QUEUE, Job, name
from workbell.model.json_text import clean_text
from workbell.model.retry import Retry
from workbell.model.run import Attempt, AttemptStatus, Lane, Options, Run, Status
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults
from workbell.model.schedule import CatchUp, Overlap, Schedule, ScheduleKind, ScheduleOptions
from workbell.model.state import Retention
from workbell.stores.kumofire.tables import KumofireJob, KumofireRun, KumofireSchedule, write_time
from workbell.timing import Timing, read_timing
from workbell.timing.interval import Interval, read_span

FOREVER = datetime(9999, 1, 1, tzinfo=UTC)  # not the last day: it must have a name in every zone
ATTEMPTS = 3  # its default, and ours
SOURCE = "api"
DISABLED = "disabled in Kumofire"
_A_MOMENT = timedelta(microseconds=1)


class Into(NamedTuple):
    """Where and as of when rows are taken over."""

    tenant: str
    now: datetime
    keep: Retention = Retention()
    target: str | None = None  # the agent that runs its jobs


class CannotTake(WorkbellError):
    """A row cannot be taken over."""


class TakenJob(NamedTuple):
    job: Job
    notes: list[str]


class TakenSchedule(NamedTuple):
    schedule: Schedule
    notes: list[str]


class TakenRun(NamedTuple):
    """A run, with the attempt that was lost, and the key that it holds for ever."""

    run: Run
    notes: list[str]
    lost: Attempt | None = None
    key: str | None = None


def take_job(row: KumofireJob, into: Into) -> TakenJob:
    notes: list[str] = []
    template = row.payload_template
    if template is not None and not isinstance(_json("payload_template", template), dict):
        notes.append("its payload_template is no object, and is left out")
        template = None
    handler = _job_name(row.handler or row.name)
    if template is not None and handler == row.name:
        notes.append("its payload_template is no default here; give the parameters of its function defaults")
    created = _time("created_at", row.created_at)
    return TakenJob(
        Job(
            id=id_of(row.id),
            tenant=into.tenant,
            name=_job_name(row.name),
            handler=handler,
            # One whose handler has another name is served by who has that; else code of this name takes it over.
            source=CODE_SOURCE if handler == row.name else API_SOURCE,
            input_text=template,
            retry=_default_retry(row.default_options, notes),
            options=NO_DEFAULTS if into.target is None else RunDefaults(target=into.target),
            created_at=created,
            updated_at=created if row.updated_at is None else _time("updated_at", row.updated_at),
        ),
        notes,
    )


def take_schedule(row: KumofireSchedule, into: Into) -> TakenSchedule:
    """The tick that it waits for is the first that ours decides on; every tick makes a run, as there."""
    notes: list[str] = []
    try:
        kind = ScheduleKind(row.schedule_type)
    except ValueError:
        raise CannotTake(f"its schedule_type {row.schedule_type[:40]!r} is unknown") from None
    due = None if row.next_run_at is None else _time("next_run_at", row.next_run_at)
    zone = row.timezone or "UTC"
    expression, timing, problem = _timing(kind, row.schedule_expr, zone, due)
    enabled = bool(row.enabled) and problem is None
    if enabled and timing is not None and due is not None and timing.next(due - _A_MOMENT) != due:
        notes.append(f"its next_run_at {row.next_run_at} is no tick of {expression!r} here; it ticks at the next one")
    if problem is not None:
        notes.append(f"it is disabled here: {problem}")
    if enabled and due is None and timing is not None:
        due = timing.next(into.now)
    created = _time("created_at", row.created_at)
    last = None if row.last_scheduled_at is None else _time("last_scheduled_at", row.last_scheduled_at)
    return TakenSchedule(
        Schedule(
            id=id_of(row.id),
            tenant=into.tenant,
            name=_name("schedule", row.name),
            job=_job_name(row.job_name),
            kind=kind,
            expression=expression,
            timezone=zone,
            options=ScheduleOptions(
                input=_input(row.payload, notes),
                retry=_retry(row.max_attempts),
                target=into.target,
                overlap=Overlap.ALLOW,
                catch_up=CatchUp.ALL,
            ),
            source=SOURCE,
            enabled=enabled,
            reason=None if enabled else problem or DISABLED,
            created_at=created,
            updated_at=created if row.updated_at is None else _time("updated_at", row.updated_at),
            look_at=due if enabled else None,
            next_run_at=due if enabled else None,
            last_scheduled_at=(into.now if due is None else due - _A_MOMENT) if enabled else into.now,
            last_run_at=last,
        ),
        notes,
    )


def take_run(row: KumofireRun, into: Into) -> TakenRun:
    """The same run, found by its id. One that was running is queued again: nobody works on it any more."""
    run_id = id_of(row.id)
    imported_id = None if row.id.lower() == run_id else clean_text(row.id)
    options = Options(retry=_retry(row.max_attempts), imported_id=imported_id)
    try:
        status = Status(row.status)
    except ValueError:
        raise CannotTake(f"its status {row.status[:40]!r} is unknown") from None
    if not status.final and row.lease_until is not None and row.lease_until > write_time(into.now):  # texts, as there
        raise CannotTake("a consumer of Kumofire has locked it since the import began; stop that, and import again")
    if status is Status.SCHEDULED and row.next_run_at is None:
        raise CannotTake("it is scheduled without a next_run_at, so that it was never to run there")
    notes: list[str] = []
    key = _key(row.dedupe_key, notes)
    created = _time("created_at", row.created_at)
    updated = created if row.updated_at is None else _time("updated_at", row.updated_at)
    started = None if row.started_at is None else _time("started_at", row.started_at)
    lost = status is Status.RUNNING
    run = Run(
        id=run_id,
        lane=Lane(into.tenant, QUEUE, _job_name(row.job_name), into.target),
        status=Status.QUEUED if lost else status,
        rank=0,
        scheduled_for=created if row.next_run_at is None else _time("next_run_at", row.next_run_at),
        created_at=created,
        updated_at=updated,
        # There `attempt` counts failures; here starts, of which the last has not failed.
        attempt=row.attempt + (1 if lost or status is Status.SUCCEEDED else 0),
        failures=row.attempt,
        losses=1 if lost else 0,
        input_text=_input(row.payload, notes),
        options_text=msgspec.json.encode(options).decode(),
        key_text=key,
        schedule=None if row.job_schedule_id is None else id_of(row.job_schedule_id),
        error=None if row.last_error is None else clean_text(row.last_error),
        reason="worker lost" if lost else "error" if row.last_error is not None else None,
    )
    if lost:
        ended = updated if row.lease_until is None else _time("lease_until", row.lease_until)
        gone = Attempt(run_id, run.attempt, AttemptStatus.LOST, started or updated, ended)
        return TakenRun(run, notes, gone, key)
    if status.final:
        ended = updated if row.finished_at is None else _time("finished_at", row.finished_at)
        kept = into.keep.succeeded if status is Status.SUCCEEDED else into.keep.other
        run = msgspec.structs.replace(
            run, started_at=started, finished_at=ended, updated_at=ended, remove_at=into.now + kept
        )
    return TakenRun(run, notes, None, key)


def _timing(kind: ScheduleKind, text: str, zone: str, due: datetime | None) -> tuple[str, Timing | None, str | None]:
    """The expression in our words, what it means, and why it means nothing here."""
    expression = clean_text(text, 1000)
    try:
        if kind is ScheduleKind.INTERVAL and due is not None and " from " not in text:
            expression = str(Interval(read_span(text.strip()), due))
        return expression, read_timing(kind.value, expression, zone), None
    except JobsError as error:
        return expression, None, clean_text(str(error), 500)


def _default_retry(text: str | None, notes: list[str]) -> Retry | None:
    """The retry policy of the default options; what else is in them has no counterpart that is known."""
    options = _json("default_options", text)
    if options is None:
        return None
    if not isinstance(options, dict):
        notes.append("its default_options are no object, and are left out")
        return None
    most = options.pop("maxAttempts", None)
    if options:
        notes.append(f"of its default_options {', '.join(sorted(options))} is left out")
    if most is None:
        return None
    try:
        return Retry(attempts=most)
    except InvalidOption:
        notes.append(f"its maxAttempts {most!r} cannot be used, and is left out")
        return None


def _retry(most: int | None) -> Retry:
    """Its own waits are ours, but for our jitter: 1 s, doubled, up to a minute."""
    return Retry(attempts=max(ATTEMPTS if most is None else most, 1))


def _input(text: str | None, notes: list[str]) -> str | None:
    """The payload as arguments by name: an object as it is, anything else as the argument `payload`."""
    value = _json("payload", text)
    if value is None:
        return None
    if isinstance(value, dict):
        return text
    notes.append("its payload is no object, and is the argument `payload` here")
    return msgspec.json.encode({"payload": msgspec.Raw((text or "").encode())}).decode()


def _key(text: str | None, notes: list[str]) -> str | None:
    """Its keys are of all jobs together: here the scope `tenant`, whose keys are stored as they are."""
    if text is None:
        return None
    try:
        return name("dedupe_key", text, CannotTake)
    except CannotTake as error:
        notes.append(f"it has no key here: {error}")
        return None


def _job_name(text: str) -> str:
    if text in BUILT_IN:
        raise CannotTake(f"the job {text} is one of Workbell's own; give it another name first")
    return _name("job", text)


def _name(kind: str, text: str) -> str:
    return name(kind, text, CannotTake)


def _time(field: str, text: str) -> datetime:
    """A time in ISO 8601; without a zone it is in UTC."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise CannotTake(f"its {field} {text[:40]!r} is no time") from None


def _json(field: str, text: str | None) -> Any:
    if text is None:
        return None
    try:
        if "\x00" in text:
            raise ValueError
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise CannotTake(f"its {field} is no JSON") from None
