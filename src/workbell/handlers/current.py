"""Which run this code belongs to, if it is called by a handler: what it makes is traced back to that run."""

from __future__ import annotations

from contextvars import ContextVar

from workbell.model.run import Run

current_run: ContextVar[Run | None] = ContextVar("workbell_run", default=None)


def depth_behind(run: Run | None) -> int:
    """How many events lie behind a run."""
    return 0 if run is None or run.options_text is None else run.options.depth
