"""Handlers of figures for overviews: finished runs over time, recent runs of jobs, and the next ticks."""

from __future__ import annotations

from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.recent_runs import RecentRuns
from workbell.model.tally_chart import TallyChart
from workbell.model.upcoming_ticks import UpcomingTick
from workbell.wire import recent, tallies
from workbell.wire.operation import Items
from workbell.wire.recent import RecentQuery, UpcomingQuery
from workbell.wire.tallies import TalliesQuery

served = Served()


@served(tallies.read)
async def read(call: ApiCall, query: TalliesQuery) -> TallyChart:
    return await call.client.runs.atallies(query.minutes, job=query.job, queue=query.queue)


@served(recent.runs)
async def runs(call: ApiCall, query: RecentQuery) -> Items[RecentRuns]:
    return Items(items=[*await call.client.jobs.arecent(query.job, query.limit)])


@served(recent.ticks)
async def ticks(call: ApiCall, query: UpcomingQuery) -> Items[UpcomingTick]:
    return Items(items=[*await call.client.schedules.aupcoming(query.limit)])
