"""Canceling and repeating runs: the writes behind `bell.cancel`, `bell.retry` and bulk actions."""

from __future__ import annotations

from collections.abc import Sequence

from workbell.errors import EventNotFound
from workbell.handlers.current_run import traced
from workbell.model import state
from workbell.model.event import Match, MatchOutcome, Rematch
from workbell.model.json_text import clean_text
from workbell.model.run import PENDING, NewRun, Run, Status
from workbell.runs.lookup import find_run
from workbell.runs.runtime import Runtime


def cancel(runtime: Runtime, run_id: str, reason: str) -> Run:
    """Cancel a run: it ends at once if no worker has claimed it, else its worker is asked to stop it."""
    reason = clean_text(reason, 500)
    while True:
        run = find_run(runtime, run_id)
        if run.status in PENDING:
            ended = cancel_pending(runtime, [run], reason)
            if ended:
                return ended[run.id]
        elif run.status is Status.RUNNING:
            if runtime.store.runs.request_cancel(run.id, reason):
                runtime.store.wake()
                runtime.wake()
                return find_run(runtime, run_id)
        else:
            return run
        # It moved between reading and writing: read it again.


def cancel_pending(runtime: Runtime, runs: Sequence[Run], reason: str) -> dict[str, Run]:
    """End runs that have not started, in one transaction; those that really had not, as they are now."""
    now = runtime.store.clock.now()
    runtime.publisher.poll()
    ended = runtime.booking.book(
        [(run, state.cancel(run, now, reason=reason, keep=state.retention_of(run, runtime.keep).other)) for run in runs]
    )
    return {run.id: change.after(run) for run, change in ended}


def retry_matched(runtime: Runtime, run: Run, new: NewRun) -> Run | None:
    """Repeat a run that an event made: the new one replaces it in the ledger; none, if another did that before."""
    trigger = run.options.trigger
    if run.event is None or trigger is None:
        return None
    if run.event not in runtime.store.events.find([run.event]):
        raise EventNotFound(f"run {run.id}: its event {run.event} was removed, so it cannot be run again; emit it.")
    new = traced(new)
    match = Match(run.event, trigger, MatchOutcome.STARTED, new.run.created_at, new.run.id)
    made = runtime.store.events.rematch([Rematch(new, match, run.id)])
    if made:
        runtime.wake()
    return new.run if made else None
