"""The built-in job `bulk-action`: walks through the runs of a filter, newest first, and does one thing to each.

It may be stopped anywhere and be tried again: it goes on where its progress says, and what it did once it does not do
again. Only runs that were made before it are meant, so it comes to an end, and never to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbell.bulk.acts import Acted, act, not_retried
from workbell.bulk.order import Action, as_options, narrowed, read_action
from workbell.bulk.tally import OLDEST, BulkTally, tally_from
from workbell.handlers.context import Context, client_of
from workbell.handlers.job_function import JobFunction
from workbell.model.job import BUILT_IN, BULK
from workbell.model.retry import Retry
from workbell.stores.port import Filter

if TYPE_CHECKING:
    from workbell.client.client import Client

BULK_QUEUE = "bulk"  # of its own: a queue may be paused just to be cleared
RETRY = Retry(attempts=5, delay=5, factor=4, cap=300)
PAGE = 200  # runs that are acted on between two looks at whether it should stop


class Stopped(Exception):
    """The end of the run was asked for, or of its worker: the engine knows which."""


def bulk_job(client: Client) -> JobFunction[Any, Any]:
    def walk(ctx: Context, action: str, filter: dict[str, Any], dry_run: bool = False) -> dict[str, Any]:  # noqa: A002
        return _walk(ctx, read_action(action), filter, dry_run)

    return JobFunction(
        client,
        walk,
        job=BULK,
        queue=BULK_QUEUE,
        handler=f"workbell:{BULK}",
        description="Cancels or repeats all runs of a filter.",
        retry=RETRY,
    )


def _walk(ctx: Context, action: Action, words: dict[str, Any], dry_run: bool) -> dict[str, Any]:
    client = client_of(ctx)
    wanted = narrowed(action, client.filter_of(as_options(words)))
    tally = tally_from(ctx.run.progress, ctx.run.id)
    total = _total(ctx, client, wanted)
    while True:
        if ctx.canceled:
            raise Stopped
        page = wanted._replace(before=tally.before, limit=PAGE)
        if action is Action.RETRY:
            page = page._replace(retried=None)  # what an earlier attempt has retried is to be counted, too
        found, looked_to = client.store.reports.search(page)
        # What Workbell does itself is meant only by its name: to end all runs must not silence their alerts.
        runs = [run for run in found if run.job not in BUILT_IN or run.job == wanted.job]
        if action is Action.RETRY:
            runs = not_retried(client, runs, ctx.run.created_at)
        acted = Acted(0, 0, []) if dry_run else act(client, action, runs, ctx.run.id)
        tally = tally.plus(len(runs), acted, looked_to or OLDEST)
        _tell(ctx, tally, total)
        if looked_to is None:
            return tally.result()


def _tell(ctx: Context, tally: BulkTally, total: int | None) -> None:
    ctx.progress(tally.matched, total, tally.message)


def _total(ctx: Context, client: Client, wanted: Filter) -> int | None:
    """How many there will be, as the first attempt has counted them; none if they are too many to be counted."""
    if ctx.run.progress is not None:
        told: int | None = ctx.run.progress.get("total")
        return told
    counted = client.store.reports.count(wanted._replace(before=ctx.run.id))
    return None if counted.capped else counted.count
