"""The built-in job `bulk-action`: walks through the runs of a filter, newest first, and does one thing to each.

It may be stopped anywhere and be tried again: it goes on where its progress says, and what it did once it does not do
again. Only runs that were made before it are meant, so it comes to an end, and never to itself.
"""

from __future__ import annotations

from typing import Any

from workbell.bulk.acts import Acted, act, not_retried
from workbell.bulk.bulk_request import BULK_QUEUE, as_options, meant, read_action
from workbell.bulk.tally import OLDEST, BulkTally, tally_from
from workbell.handlers.context import Context
from workbell.handlers.job_function import JobFunction
from workbell.model.bulk_action import Action
from workbell.model.job import BUILT_IN, BULK
from workbell.model.retry import Retry
from workbell.runs.filters import read_filter
from workbell.runs.job_services import RuntimeServices
from workbell.runs.runtime import Runtime
from workbell.stores.port import Filter

RETRY = Retry(attempts=5, delay=5, factor=4, cap=300)
PAGE = 200  # runs that are acted on between two checks of `ctx.canceled`


class Stopped(Exception):
    """The end of the run was asked for, or of its worker: the engine knows which."""


def bulk_job(runtime: Runtime) -> JobFunction[Any, Any]:
    def walk(ctx: Context, action: str, filter: dict[str, Any], dry_run: bool = False) -> dict[str, Any]:  # noqa: A002
        return _walk(runtime.for_tenant(ctx.run.tenant), ctx, read_action(action), filter, dry_run)

    return JobFunction(
        RuntimeServices(runtime),
        walk,
        job=BULK,
        queue=BULK_QUEUE,
        handler=f"workbell:{BULK}",
        description="Cancels or repeats all runs of a filter.",
        retry=RETRY,
    )


def _walk(runtime: Runtime, ctx: Context, action: Action, words: dict[str, Any], dry_run: bool) -> dict[str, Any]:
    wanted = read_filter(runtime, meant(action, as_options(words)))
    tally = tally_from(ctx.run.progress, ctx.run.id)
    total = _total(ctx, runtime, wanted)
    while True:
        if ctx.canceled:
            raise Stopped
        page = wanted._replace(before=tally.before, limit=PAGE)
        if action is Action.RETRY:
            page = page._replace(retried=None)  # what an earlier attempt has retried is to be counted, too
        found, searched_to = runtime.store.reports.search(page)
        # What Workbell does itself is meant only by its name: to end all runs must not silence their alerts.
        runs = [run for run in found if run.job not in BUILT_IN or run.job == wanted.job]
        if action is Action.RETRY:
            runs = not_retried(runtime, runs, ctx.run.created_at)
        acted = Acted(0, 0, []) if dry_run else act(runtime, action, runs, ctx.run.id)
        tally = tally.plus(len(runs), acted, searched_to or OLDEST)
        _report(ctx, tally, total)
        if searched_to is None:
            return tally.result()


def _report(ctx: Context, tally: BulkTally, total: int | None) -> None:
    ctx._progress(tally.matched, total, tally.message, bulk=tally.position())


def _total(ctx: Context, runtime: Runtime, wanted: Filter) -> int | None:
    """How many there will be, as the first attempt has counted them; none if they are too many to be counted."""
    if ctx.run.progress is not None:
        counted_before: int | None = ctx.run.progress.get("total")
        return counted_before
    counted = runtime.store.reports.count(wanted._replace(before=ctx.run.id))
    return None if counted.capped else counted.count
