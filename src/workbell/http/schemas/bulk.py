"""Schemas of bulk actions."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from workbell.bulk.bulk_request import Action
from workbell.http.run_filter import RunFilter
from workbell.http.schemas.base import RequestBody


class BulkFilter(RunFilter):
    """Which runs; fields of the payload by dotted paths."""

    model_config = ConfigDict(extra="forbid")

    input: dict[str, str | int | float | bool | None] | None = Field(None, examples=[{"customer.id": 42}])


class BulkBody(RequestBody):
    """An action on all runs of a filter that were made before now."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"action": "retry", "filter": {"job": "send", "status": ["failed"]}}]},
    )

    action: Action
    filter: BulkFilter = Field(
        description="Without a status, `cancel` means live runs, and `retry` failed ones. "
        "`retry` leaves out runs that were retried before."
    )
    dry_run: bool = Field(False, description="Only count what matches.")
