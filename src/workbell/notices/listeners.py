"""Lifecycle events of jobs, schedules and workers, and listeners to them in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from workbell.errors import InvalidOption
from workbell.model.patterns import PatternIndex
from workbell.model.run import Run, Status
from workbell.model.schedule import Schedule, Tick
from workbell.model.state import Move, Transition
from workbell.model.system_events import (
    CHAIN_ENDED,
    JOB_COMPLETED,
    JOB_FAILED,
    JOB_STARTED,
    RUN_CANCELED,
    SCHEDULE_SKIPPED,
    WORKER_LOST,
)
from workbell.notices.bus import Bus, Notice

log = logging.getLogger("workbell.jobs")

TYPES = (JOB_STARTED, JOB_COMPLETED, JOB_FAILED, RUN_CANCELED, CHAIN_ENDED, SCHEDULE_SKIPPED, WORKER_LOST)
MOST_RUNS = 100  # that an event names

_TYPE_OF = {
    Move.START: JOB_STARTED,
    Move.SUCCEED: JOB_COMPLETED,
    Move.FAIL: JOB_FAILED,
    Move.LOSE: JOB_FAILED,  # quarantined: it crashed its workers
    Move.CANCEL: RUN_CANCELED,
}


class LifecycleEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job began, or ended for good (a failed attempt that is retried is no event); a run was canceled, or the last of
    its chain failed; a tick of a schedule made no run; a worker was lost. What does not apply has its default."""

    type: str
    time: datetime
    name: str = ""  # of the job; of the schedule, where a tick of it was skipped
    run_id: str = ""
    attempt: int = 0
    file_path: str | None = None
    schedule: str | None = None  # when the job runs by itself
    duration_ms: float | None = None
    error: str | None = None
    reason: str | None = None
    due: datetime | None = None  # of the tick, or of the first of them
    count: int | None = None  # of ticks with one outcome
    worker: str | None = None
    host: str | None = None
    runs: tuple[str, ...] = ()  # what the worker held

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, without what does not apply."""
        fields: dict[str, Any] = msgspec.to_builtins(self, builtin_types=(datetime,))
        return fields


Listener = Callable[[LifecycleEvent], None]
Describe = Callable[[Run], tuple[str | None, str | None]]  # the file and the schedule of a run's job


def nothing_known(_run: Run) -> tuple[str | None, str | None]:
    """In a process that has loaded no job: its events do without a file and a schedule."""
    return None, None


# Events


def type_of(move: Move, *, final: bool) -> str | None:
    """Type of the event about a move of a run, if there is one."""
    return None if move is Move.LOSE and not final else _TYPE_OF.get(move)


def about_run(move: Move, run: Run, describe: Describe = nothing_known) -> LifecycleEvent | None:
    """Event of a move; the run is as it is afterwards."""
    kind = type_of(move, final=run.status.final)
    if kind is None:
        return None
    file_path, schedule = describe(run)
    return LifecycleEvent(
        type=kind,
        time=run.updated_at,
        name=run.job,
        run_id=run.id,
        attempt=run.attempt,
        file_path=file_path,
        schedule=schedule,
        duration_ms=_duration(run),
        error=run.error if kind == JOB_FAILED else None,
        reason=run.reason if kind == RUN_CANCELED else None,
    )


def about_chain(move: Move, run: Run, describe: Describe = nothing_known) -> LifecycleEvent | None:
    """Event of the last run of a chain that has failed for good; the run is as it is afterwards.

    One that crashed its worker is the last of its chain, however many were left.
    """
    if run.status is not Status.FAILED:
        return None
    if not run.ends_chain and (move is not Move.LOSE or run.options.auto_reschedule is None):
        return None
    failed = about_run(move, run, describe)
    return None if failed is None else msgspec.structs.replace(failed, type=CHAIN_ENDED, reason=run.reason)


def about_tick(schedule: Schedule, tick: Tick) -> LifecycleEvent:
    """Event of a tick, or a span of them, that made no run and is not made up for."""
    return LifecycleEvent(
        type=SCHEDULE_SKIPPED,
        time=tick.created_at,
        name=schedule.name,
        schedule=schedule.expression,
        due=tick.due,
        count=tick.count,
        reason=tick.reason,
    )


def about_worker(worker: str, runs: Sequence[Run], now: datetime) -> LifecycleEvent:
    """Event of a lost worker that held these runs."""
    host, _, _ = worker.partition("/")
    held = tuple(run.id for run in runs[:MOST_RUNS])
    return LifecycleEvent(type=WORKER_LOST, time=now, worker=worker, host=host, runs=held, count=len(runs))


def by_worker(pairs: Iterable[tuple[Run, Transition]]) -> dict[tuple[str, str], list[Run]]:
    """The runs that were taken from workers, by tenant and worker: no tenant gets another's runs."""
    held: dict[tuple[str, str], list[Run]] = {}
    for run, _ in pairs:
        if run.worker is not None:
            held.setdefault((run.tenant, run.worker), []).append(run)
    return held


def _duration(run: Run) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return (run.finished_at - run.started_at) / timedelta(milliseconds=1)


# Listeners


def listen(
    bus: Bus, pattern: str, listener: Listener, describe: Describe, *, leave_out: frozenset[str] = frozenset()
) -> Callable[[], None]:
    """Call a listener for events whose type matches; call the result to stop. What it raises is logged, nothing more.

    Runs of the jobs that are left out make no events.
    """
    index = PatternIndex([(pattern, True)])
    wanted = frozenset(kind for kind in TYPES if index.match(kind, system=True))
    if not wanted:
        hint = " Write the first word out, as in job.*: it is Workbell's own events that can be listened to here."
        starred = pattern.startswith("*")
        raise InvalidOption(f"listen: {pattern!r} matches none of {', '.join(TYPES)}.{hint if starred else ''}")

    def call(event: LifecycleEvent) -> None:
        try:
            listener(event)
        except Exception:
            log.exception("a listener to %s failed", event.type)

    def call_for_moves(notices: Sequence[Notice]) -> None:
        for notice in notices:
            if notice.run.job not in leave_out:
                for about in (about_run, about_chain):
                    event = about(notice.move, notice.run, describe)
                    if event is not None and event.type in wanted:
                        call(event)

    moves = [move for move, kind in _TYPE_OF.items() if kind in wanted or (move is Move.FAIL and CHAIN_ENDED in wanted)]
    stops = [bus.subscribe(call_for_moves, moves), bus.on_fact(call, wanted - {*_TYPE_OF.values(), CHAIN_ENDED})]

    def stop() -> None:
        for each in stops:
            each()

    return stop
