"""Actions on many runs at once."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """Action on each run."""

    CANCEL = "cancel"
    RETRY = "retry"
