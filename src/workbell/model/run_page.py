"""Pages and counts of runs."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from workbell.model.run import Run


class RunPage(NamedTuple):
    """Runs, newest first, and the id to continue `before`; None: there are no more.

    There may be fewer than asked for, or none at all, and yet a next page: a search ends after a while, found or not.
    """

    runs: list[Run]
    next: str | None


class Counted(msgspec.Struct, frozen=True):
    """Number of runs found; `capped`: there may be more, which were not counted."""

    count: int
    capped: bool
