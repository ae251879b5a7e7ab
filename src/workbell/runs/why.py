"""Why a run is not running: one answer in plain words, from what the store knows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from workbell.model.agent import Agent, out_of_reach
from workbell.model.capability import Capability, shortfall
from workbell.model.limit import ALL_JOBS, Limit, Use
from workbell.model.outcome import OutsideWindow
from workbell.model.pause import Pause
from workbell.model.run import Run, Status
from workbell.model.state import OUTSIDE_WINDOW
from workbell.scheduling.rule import judge_start, window_of


def explain(
    run: Run,
    now: datetime,
    *,
    ahead: int = 0,
    running: int = 0,
    pause: Pause | None = None,
    held: Sequence[tuple[Limit, Use]] = (),
    missing: str | None = None,
    workers: Capability | None = None,
    agents: Sequence[Agent] = (),
    brake: str | None = None,
    handler: str | None = None,
) -> str:
    """A sentence or two about where a run stands.

    `missing` says what is wrong with its job, if that is why it waits; `handler` is the job of its code.
    """
    match run.status:
        case Status.SCHEDULED:
            return _scheduled(run, now)
        case Status.QUEUED:
            return (
                _stopped(run, now, pause, missing, workers)
                or _unserved(run, handler or run.job, agents, now)
                or brake
                or _held_back(held, now)
                or _queued(run, now, ahead, running, workers, agents)
            )
        case Status.RUNNING:
            since = _span(now - run.started_at) if run.started_at else "a moment"
            asked = " Its end was asked for; the handler has not stopped yet." if run.cancel_requested else ""
            lapsed = run.lease_until is not None and run.lease_until <= now
            lease = " Its lease has run out: the next sweep gives it to another worker." if lapsed else ""
            return f"It is running: attempt {run.attempt}, for {since}, on {run.worker}.{asked}{lease}"
        case Status.SUCCEEDED:
            return f"It succeeded {_ago(run, now)}."
        case Status.FAILED:
            count = "1 attempt" if run.attempt == 1 else f"{run.attempt} attempts"
            return f"It failed {_ago(run, now)} ({run.reason}) after {count}: {_first_line(run.error)}"
        case Status.CANCELED:
            return f"It was canceled {_ago(run, now)}: {run.reason}."


def _scheduled(run: Run, now: datetime) -> str:
    left = run.scheduled_for - now
    if left <= timedelta(0):
        return f"It was due {_span(-left)} ago and waits for a dispatcher: is any worker or scheduler running?"
    again, at = "", f"{run.scheduled_for:%Y-%m-%d %H:%M:%S} UTC"
    window = window_of(run)
    is_put_off = window is not None and run.reason == OUTSIDE_WINDOW
    if run.error is not None:
        again = f" Attempt {run.attempt} failed: {_first_line(run.error)}"
    elif run.reason and not is_put_off:
        again = f" Its handler asked for later: {run.reason}."
    if window is None:
        return f"It is due in {_span(left)}, at {at}.{again}"
    hours = f"{window.start}–{window.end}, {window.timezone}"
    if is_put_off:
        return f"It was put off to the window's opening at {at}, in {_span(left)} ({hours}).{again}"
    return f"It is due in {_span(left)}, at {at}.{_closed(run, hours)}{again}"


def _closed(run: Run, hours: str) -> str:
    """What will happen to a run that is due while its window is closed."""
    judged = judge_start(run, run.scheduled_for)
    if not isinstance(judged, OutsideWindow):
        return ""
    what = "end"
    if judged.opening is not None:
        what = f"be put off to the window's opening at {judged.opening:%Y-%m-%d %H:%M:%S} UTC"
    return f" That is outside the window ({hours}): it will {what}."


def _stopped(
    run: Run, now: datetime, pause: Pause | None, missing: str | None, workers: Capability | None
) -> str | None:
    """Reason why a queued run cannot start now, such as a pause."""
    if run.expires_at is not None and run.expires_at <= now and not run.attempt:
        return "It has expired and will be canceled at the next sweep."
    if pause is not None:
        since = f"{pause.since:%Y-%m-%d %H:%M:%S} UTC"
        return f"{str(pause).capitalize()} is paused since {since}; `{pause.remedy}` lets it go on."
    if missing is None and workers is not None:
        missing = shortfall(workers, run.queue, run.job)
    return None if missing is None else f"{missing} It waits, and nothing is spent meanwhile."


def _unserved(run: Run, handler: str, agents: Sequence[Agent], now: datetime) -> str | None:
    """Why none of the agents that a run is aimed at takes it."""
    missing = None if run.target is None else out_of_reach(agents, run.target, handler, now)
    return None if missing is None else f"{missing} It waits, and nothing is spent meanwhile."


def _held_back(held: Sequence[tuple[Limit, Use]], now: datetime) -> str | None:
    """Which limits of its job leave nothing."""
    said = []
    for limit, use in held:
        which = f"tenant {limit.tenant}" if limit.job == ALL_JOBS else f"job {limit.job}"
        which += f" with {limit.by}={limit.key}" if limit.key is not None else ""
        if limit.concurrency is not None and use.running >= limit.concurrency:
            said.append(f"{use.running:,} of {limit.concurrency:,} runs of {which} are running.")
        free_at = limit.free_at(use, now)
        if limit.rate is not None and free_at is not None:
            started = f"{limit.rate.used(use.starts, now):,} of {which} started in the last {_span(limit.rate.span)}"
            said.append(f"{started}; the next may start in {_span(free_at - now)}.")
    return f"A limit holds it back: {' '.join(said)}" if said else None


def _queued(
    run: Run, now: datetime, ahead: int, running: int, workers: Capability | None, agents: Sequence[Agent]
) -> str:
    since = _span(now - run.updated_at)
    position = f"{'1,000 or more' if ahead >= 1000 else ahead} before it in its lane, {running} of the lane running"
    if ahead == 0 and running == 0:
        first = f"It has been first in its lane for {since}, and nothing of the lane is running"
        if run.target is not None:
            each = f"the agent {agents[0].name!r} is" if len(agents) == 1 else "every agent that it is aimed at is"
            return f"{first}: {each} busy, or about to take it."
        if workers is None:
            return f"{first}: nobody is taking runs of job {run.job!r} from queue {run.queue!r}, or all are busy."
        who = "the only worker" if workers.able == 1 else f"each of the {workers.able:,} workers"
        return f"{first}: {who} for job {run.job!r} in queue {run.queue!r} is busy, or about to take it."
    return f"It has been queued for {since}: {position}."


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
