"""Count of an event's matches."""

from __future__ import annotations

from typing import Annotated

import msgspec


class EventCount(msgspec.Struct, frozen=True, kw_only=True):
    """Number of an event's matches, counted up to 100; `capped` says that there is more."""

    event: str
    type: str
    fanned_out: Annotated[bool, msgspec.Meta(description="Whether it was held against all triggers and endpoints yet.")]
    count: int
    started: Annotated[int, msgspec.Meta(description="Of these, those that became a run.")]
    capped: bool
