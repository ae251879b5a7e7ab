"""Delivery: the run that sends one event to one webhook endpoint."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workbell.model.clock import Instant
from workbell.model.run import Status
from workbell.model.schema_examples import RUN_ID


class Delivery(msgspec.Struct, frozen=True):
    """A delivery: a run, in the words of webhooks."""

    id: Annotated[str, Meta(description="Its id: that of its run.", examples=[RUN_ID])]
    endpoint: str
    event: str | None
    status: Annotated[Status, Meta(description="That of its run.")]
    attempts: int
    created_at: Instant
    status_code: Annotated[int | None, Meta(description="Of the last answer.")]
    duration_ms: Annotated[float | None, Meta(description="How long the last answer took.")]
    answer: Annotated[str | None, Meta(description="The beginning of the last answer, at most a kilobyte.")]
    error: Annotated[
        str | None,
        Meta(description="Of the last attempt; or why it was canceled."),
    ]
    next_attempt_at: Instant | None
    finished_at: Instant | None

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)
