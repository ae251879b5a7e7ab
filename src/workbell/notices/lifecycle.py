"""Lifecycle events of jobs, for listeners in this process: `job.started`, `job.completed`, `job.failed`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from workbell.model.run import Run
from workbell.model.state import Move
from workbell.notices.bus import Bus, Notice

log = logging.getLogger("workbell.jobs")

STARTED, COMPLETED, FAILED = "job.started", "job.completed", "job.failed"
TYPES = (STARTED, COMPLETED, FAILED)
_TYPE_OF = {Move.START: STARTED, Move.SUCCEED: COMPLETED, Move.FAIL: FAILED}


class LifecycleEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A job began, or ended for good: a failed attempt that is retried is no event."""

    type: str
    time: datetime
    name: str
    run_id: str
    attempt: int
    file_path: str | None = None
    schedule: str | None = None
    duration_ms: float | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, without what does not apply."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


Listener = Callable[[LifecycleEvent], None]
Describe = Callable[[Run], tuple[str | None, str | None]]  # the file and the schedule of a run's job


def listen(bus: Bus, pattern: str, listener: Listener, describe: Describe) -> Callable[[], None]:
    """Call a listener for events whose type matches; the answer ends that. What it raises is logged, nothing more."""

    def hear(notices: Sequence[Notice]) -> None:
        for notice in notices:
            event = _event_of(notice, describe)
            if event is None or not fnmatchcase(event.type, pattern):
                continue
            try:
                listener(event)
            except Exception:
                log.exception("a listener to %s failed", event.type)

    return bus.subscribe(hear)


def _event_of(notice: Notice, describe: Describe) -> LifecycleEvent | None:
    run, kind = notice.run, _TYPE_OF.get(notice.move)
    if notice.move is Move.LOSE and run.status.final:  # set aside, because it took its workers down with it
        kind = FAILED
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
        error=run.error if kind == FAILED else None,
    )


def _duration(run: Run) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return (run.finished_at - run.started_at) / timedelta(milliseconds=1)
