"""The verb for acting on many runs: bulk. Sync, and async with an `a`."""

from __future__ import annotations

from typing import Unpack

from workbell.bulk.job import BULK_QUEUE
from workbell.bulk.order import as_payload, narrowed, read_action
from workbell.model.filter_options import FilterOptions
from workbell.model.job import BULK
from workbell.model.payload import encode
from workbell.model.request import Request, plain_request
from workbell.model.run import Lane, Run
from workbell.runs.control import Steering


class Bulk(Steering):
    """The part of a client that acts on many runs."""

    def bulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> Run:
        """Cancel or retry all runs of a filter that were made before now: a run of its own does it, with progress.

        `bell.bulk("retry", job="send", status="failed", since=yesterday)`. Without a status, `cancel` means all runs
        that have not ended, and `retry` those that failed. `retry` leaves out what was retried before, however often it
        is asked for. The result has `matched`, `done`, `skipped` and the first `errors`; with `dry_run` it is only
        counted what matches. It can be waited for, watched and canceled as any run.
        Runs of Workbell's own jobs, such as webhooks and alerts, are meant only if their job is named.
        """
        asked = read_action(action)
        chosen = narrowed(asked, self.filter_of(wanted))
        text = encode("bulk", as_payload(asked, chosen, bool(dry_run)))
        new = plain_request(Lane(self.tenant, BULK_QUEUE, BULK), text, self.store.clock.now())
        return self.enqueue_requests([Request(new)])[0]

    async def abulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> Run:
        return await self.hop(lambda: self.bulk(action, dry_run=dry_run, **wanted))
