"""Which run this code belongs to, if it is called by a handler: what it makes is traced back to that run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from workbell.model.run import Run

current_run: ContextVar[Run | None] = ContextVar("workbell_run", default=None)


@contextmanager
def on_behalf_of(run: Run) -> Iterator[None]:
    """What is made in here is traced back to this run, also in a thread that knows of none."""
    here = current_run.set(run)
    try:
        yield
    finally:
        current_run.reset(here)


def depth_behind(run: Run | None) -> int:
    """How many events lie behind a run."""
    return 0 if run is None or run.options_text is None else run.options.depth
