"""Bulk actions (cancel, retry) on a page of runs at a time. All are idempotent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from workbell.errors import StoreError, WorkbellError
from workbell.model.bulk_action import Action
from workbell.model.job import CLEAN
from workbell.model.request import Request, again
from workbell.model.run import PENDING, Run, Status
from workbell.runs.control import cancel, cancel_pending, retry_matched
from workbell.runs.enqueuing import Enqueuing
from workbell.runs.runtime import Runtime

KEY_RETENTION = timedelta(days=7)  # of the key by which a bulk action retries a run once


class Acted(NamedTuple):
    """Result of an action on a page: numbers of runs changed and left, and the errors by run."""

    done: int
    skipped: int
    errors: list[tuple[str, str]]


def act(runtime: Runtime, action: Action, runs: Sequence[Run], bulk: str) -> Acted:
    """Do it to all of these, on behalf of the bulk action with this id."""
    if action is Action.CANCEL:
        return _cancel(runtime, runs, f"canceled by bulk action {bulk}")
    return _retry(runtime, runs)


def _cancel(runtime: Runtime, runs: Sequence[Run], reason: str) -> Acted:
    ended = cancel_pending(runtime, [run for run in runs if run.status in PENDING], reason)
    done, skipped, errors = len(ended), 0, []
    for run in runs:
        if run.id in ended:
            continue
        if run.cancel_requested:
            skipped += 1
            continue
        try:
            after = cancel(runtime, run.id, reason)
        except StoreError:
            raise  # then the whole run is tried again
        except WorkbellError as error:
            errors.append((run.id, str(error)))
            continue
        if after.reason == reason and after.status in (Status.RUNNING, Status.CANCELED):
            done += 1
        else:
            skipped += 1  # it ended by itself
    return Acted(done, skipped, errors)


def not_retried(runtime: Runtime, runs: Sequence[Run], before: datetime) -> list[Run]:
    """Those of which no retry was made before then."""
    retries = runtime.store.reports.retries([run.id for run in runs])
    return [run for run in runs if run.id not in retries or retries[run.id].created_at >= before]


def _retry(runtime: Runtime, runs: Sequence[Run]) -> Acted:
    """Retry each run once, also if others do so at the same time.

    A run that an event made is replaced in the ledger once; another has a key for that, which is the same for every
    bulk action. Runs that a user retried since this one began are left out.
    """
    now = runtime.store.clock.now()
    retries = runtime.store.reports.retries([run.id for run in runs])
    done, skipped, errors, keyed = 0, 0, [], []
    for run in runs:
        key = f"bulk:{run.id}"
        retry = retries.get(run.id)
        if run.job == CLEAN or (retry is not None and retry.key != key and not _made_by_event(run)):
            skipped += 1
            continue
        new = again(run, now, runtime.maker, retry_of=run.id)
        if not _made_by_event(run):
            named = msgspec.structs.replace(new.run, key_text=key)
            keyed.append(Request(msgspec.structs.replace(new, run=named, key_span=KEY_RETENTION)))
            continue
        try:
            made = retry_matched(runtime, run, new)
        except StoreError:
            raise
        except WorkbellError as error:
            errors.append((run.id, str(error)))
            continue
        if made is None:
            skipped += 1  # it was retried before
        else:
            done += 1
    if keyed:
        Enqueuing(runtime).write(keyed)  # those that an earlier attempt has made stand for these, by their keys
    return Acted(done + len(keyed), skipped, errors)


def _made_by_event(run: Run) -> bool:
    return run.event is not None and run.options.trigger is not None
