"""Tallies: finished runs over time, for charts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.tally_chart import LONGEST_CHART, TallyChart
from workbell.wire.fields import Name
from workbell.wire.operation import Operations, Query


class TalliesQuery(Query, frozen=True, kw_only=True):
    """Span and filter of a chart."""

    minutes: Annotated[int, Meta(ge=1, le=LONGEST_CHART, description="How far back.")] = 60
    job: Annotated[Name | None, Meta(description="Of this job only.")] = None
    queue: Annotated[Name | None, Meta(description="Of this queue only.")] = None


operations = Operations("tallies")

read = operations.add(
    "read",
    "GET",
    "/tallies",
    Scope.READ,
    TallyChart,
    """Say how many attempts ended over the last minutes, and how: by steps of time, and by job.

A step is as long as it takes to have no more than 120 of them. What ended in the newest seconds may be missing:
each worker adds up by itself, and writes that down every five seconds.""",
    query=TalliesQuery,
    verb="runs.tallies",
)
