"""Handler of tallies: finished runs over time, for charts."""

from __future__ import annotations

from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.tally_chart import TallyChart
from workbell.wire import tallies
from workbell.wire.tallies import TalliesQuery

served = Served()


@served(tallies.read)
async def read(call: ApiCall, query: TalliesQuery) -> TallyChart:
    return await call.client.runs.atallies(query.minutes, job=query.job, queue=query.queue)
