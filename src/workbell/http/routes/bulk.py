"""Handlers of bulk actions: count, cancel or retry all runs of a filter."""

from __future__ import annotations

from workbell.http.features.run_filter import asked_filter
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.run_page import Counted
from workbell.wire import bulk
from workbell.wire.bulk import BulkBody
from workbell.wire.run_filter import RunFilter, filter_words
from workbell.wire.runs import RunShown

served = Served()


@served(bulk.count)
async def count(call: ApiCall, query: RunFilter) -> Counted:
    return await call.client.acount_runs(**asked_filter(call, query))


@served(bulk.act)
async def act(call: ApiCall, body: BulkBody) -> RunShown:
    run = await call.client.abulk(body.action, dry_run=body.dry_run, **filter_words(body.filter))
    call.subject = run.id
    return RunShown.of(run)
