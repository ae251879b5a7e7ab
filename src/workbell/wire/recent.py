"""The last runs of jobs and the next ticks of schedules, in few words."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.recent_runs import RecentRuns
from workbell.model.upcoming_ticks import UpcomingTick
from workbell.wire.fields import Name
from workbell.wire.operation import Items, Operations, Query

Few = Annotated[int, Meta(ge=1, le=100)]


class RecentQuery(Query, frozen=True, kw_only=True):
    """Which runs, and how many of each job."""

    job: Annotated[Name | None, Meta(description="Of this job only; otherwise of the first 200 by name.")] = None
    limit: Few = 20


class UpcomingQuery(Query, frozen=True, kw_only=True):
    """How many ticks."""

    limit: Few = 10


operations = Operations("recent")

runs = operations.add(
    "runs",
    "GET",
    "/recent",
    Scope.READ,
    Items[RecentRuns],
    "Show the last finished runs of each job, and how long those of the last 200 took that succeeded or failed.",
    query=RecentQuery,
    verb="jobs.recent",
)
ticks = operations.add(
    "ticks",
    "GET",
    "/upcoming",
    Scope.READ,
    Items[UpcomingTick],
    "Show which schedules come next, the next one first; those that are paused or switched off are left out.",
    query=UpcomingQuery,
    verb="schedules.upcoming",
)
