"""Why a run is not running: one answer in plain words, from what the store knows."""

from __future__ import annotations

from datetime import datetime, timedelta

from workbell.model.run import Run, Status


def explain(
    run: Run, now: datetime, *, ahead: int = 0, running: int = 0, paused: bool = False, known: bool = True
) -> str:
    """A sentence or two about where a run stands."""
    match run.status:
        case Status.SCHEDULED:
            return _scheduled(run, now)
        case Status.QUEUED:
            return _queued(run, now, ahead, running, paused, known)
        case Status.RUNNING:
            since = _span(now - run.started_at) if run.started_at else "a moment"
            asked = " Its end was asked for; the handler has not stopped yet." if run.cancel_requested else ""
            lapsed = run.lease_until is not None and run.lease_until <= now
            lease = " Its lease has run out: the next sweep gives it to another worker." if lapsed else ""
            return f"It is running: attempt {run.attempt}, for {since}, on {run.worker}.{asked}{lease}"
        case Status.SUCCEEDED:
            return f"It succeeded {_ago(run, now)}."
        case Status.FAILED:
            return f"It failed {_ago(run, now)} ({run.reason}) after {run.attempt} attempts: {_first_line(run.error)}"
        case Status.CANCELED:
            return f"It was canceled {_ago(run, now)}: {run.reason}."


def _scheduled(run: Run, now: datetime) -> str:
    left = run.scheduled_for - now
    if left <= timedelta(0):
        return f"It was due {_span(-left)} ago and waits for a dispatcher: is any worker or scheduler running?"
    again = ""
    if run.failures:
        again = f" Attempt {run.attempt} failed: {_first_line(run.error)}"
    elif run.reason:
        again = f" Its handler asked for later: {run.reason}."
    return f"It is due in {_span(left)}, at {run.scheduled_for:%Y-%m-%d %H:%M:%S} UTC.{again}"


def _queued(run: Run, now: datetime, ahead: int, running: int, paused: bool, known: bool) -> str:
    if run.expires_at is not None and run.expires_at <= now and not run.attempt:
        return "It has expired and will be canceled at the next sweep."
    if paused:
        return f"Its lane is paused (queue {run.queue}, job {run.job}); resume it with bell.resume()."
    if not known:
        return f"No worker has ever declared the job {run.job!r}; start one that does. Nothing is spent meanwhile."
    since = _span(now - run.updated_at)
    place = f"{'1,000 or more' if ahead >= 1000 else ahead} before it in its lane, {running} of the lane running"
    if ahead == 0 and running == 0:
        return (
            f"It has been first in its lane for {since}, and nothing of the lane is running: no worker is taking "
            f"runs of job {run.job!r} from queue {run.queue!r}, or all are busy."
        )
    return f"It has been queued for {since}: {place}."


def _first_line(error: str | None) -> str:
    return (error or "no error was recorded").splitlines()[0]


def _ago(run: Run, now: datetime) -> str:
    return f"{_span(now - run.finished_at)} ago" if run.finished_at else "just now"


def _span(span: timedelta) -> str:
    seconds = max(span.total_seconds(), 0.0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
