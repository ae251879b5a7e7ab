"""Answers about pauses, which jobs and queues have alike. A pause itself is shown as the model's struct."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.wire.operation import Shown


class Resumed(Shown, frozen=True, kw_only=True):
    """Number of pauses that were ended."""

    ended: Annotated[int, Meta(description="How many pauses ended.")]
