"""Bulk actions: count, cancel or retry all runs of a filter."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.bulk_action import Action
from workbell.model.run_filter import RunWords
from workbell.model.run_page import Counted
from workbell.wire.operation import Operations, RequestBody
from workbell.wire.run_filter import RunFilter
from workbell.wire.runs import RunShown


class BulkFilter(RequestBody, RunWords, frozen=True, kw_only=True):
    """Which runs; fields of the input by dotted paths."""


class BulkBody(RequestBody, frozen=True, kw_only=True):
    """An action on all runs of a filter that were made before now."""

    action: Action
    filter: Annotated[
        BulkFilter,
        Meta(
            description="Without a status, `cancel` means live runs, and `retry` failed ones. "
            "`retry` leaves out runs that were retried before."
        ),
    ]
    dry_run: Annotated[bool, Meta(description="Only count what matches.")] = False


operations = Operations("bulk")

count = operations.add(
    "count",
    "GET",
    "/runs/count",
    Scope.READ,
    Counted,
    """Count runs by filter, up to 10,000.

A filter without an index reads no more than the last 20,000 runs; then too it is `capped`.""",
    query=RunFilter,
    input_fields=True,
)
act = operations.add(
    "act",
    "POST",
    "/bulk",
    Scope.OPERATE,
    RunShown,
    """Cancel or retry all runs of a filter: a run does it, whose progress can be watched.

It acts on runs that were made before it; `retry` leaves out those that were retried before. Its result has
`matched`, `done`, `skipped` and the first `errors`.""",
    status=202,
    creates=True,
    body=BulkBody,
    examples=[{"action": "retry", "filter": {"job": "send", "status": ["failed"]}}],
)
