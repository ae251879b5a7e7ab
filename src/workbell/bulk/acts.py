"""The actions themselves, on a page of runs at a time. Each can be done again, and then does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from workbell.bulk.order import Action
from workbell.errors import StoreError, WorkbellError
from workbell.model.job import CLEAN
from workbell.model.request import Request, again
from workbell.model.run import PENDING, Run, Status

if TYPE_CHECKING:
    from workbell.client.client import Client

KEPT = timedelta(days=7)  # for how long it is known that a run was repeated by a bulk action


class Acted(NamedTuple):
    """How many were done, how many needed nothing, and what went wrong with which."""

    done: int
    skipped: int
    errors: list[tuple[str, str]]


def act(client: Client, action: Action, runs: Sequence[Run], bulk: str) -> Acted:
    """Do it to all of these, on behalf of the bulk action with this id."""
    if action is Action.CANCEL:
        return _cancel(client, runs, f"canceled by bulk action {bulk}")
    return _retry(client, runs)


def _cancel(client: Client, runs: Sequence[Run], reason: str) -> Acted:
    ended = client.cancel_pending([run for run in runs if run.status in PENDING], reason)
    done, skipped, errors = len(ended), 0, []
    for run in runs:
        if run.id in ended:
            continue
        if run.cancel_requested:
            skipped += 1
            continue
        try:
            after = client.cancel(run.id, reason)
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


def not_retried(client: Client, runs: Sequence[Run], before: datetime) -> list[Run]:
    """Those of which no retry was made before then."""
    retries = client.store.reports.retries([run.id for run in runs])
    return [run for run in runs if run.id not in retries or retries[run.id].created_at >= before]


def _retry(client: Client, runs: Sequence[Run]) -> Acted:
    """Retry each run once, whoever else does so at the same time.

    A run that an event made has a place in the ledger, which it is repeated in once; another has a key for that, which
    is the same for every bulk action. What somebody retried by hand since this one began is left out.
    """
    now = client.store.clock.now()
    retries = client.store.reports.retries([run.id for run in runs])
    done, skipped, errors, keyed = 0, 0, [], []
    for run in runs:
        key = f"bulk:{run.id}"
        retry = retries.get(run.id)
        if run.job == CLEAN or (retry is not None and retry.key != key and not _made_by_event(run)):
            skipped += 1
            continue
        new = again(run, now, client.maker, retry_of=run.id)
        if not _made_by_event(run):
            named = msgspec.structs.replace(new.run, key_text=key)
            keyed.append(Request(msgspec.structs.replace(new, run=named, key_span=KEPT)))
            continue
        try:
            made = client.retry_matched(run, new)
        except StoreError:
            raise
        except WorkbellError as error:
            errors.append((run.id, str(error)))
            continue
        if made is None:
            skipped += 1  # it was repeated before, by this or by somebody
        else:
            done += 1
    if keyed:
        client.enqueue_requests(keyed)  # those that an earlier attempt has made stand for these, by their keys
    return Acted(done + len(keyed), skipped, errors)


def _made_by_event(run: Run) -> bool:
    return run.event is not None and run.options.trigger is not None
