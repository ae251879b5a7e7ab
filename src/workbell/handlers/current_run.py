"""Which run this code belongs to, if it is called by a handler: what it makes is traced back to that run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from workbell.model.request import with_parent
from workbell.model.run import NewRun, Run

current_run: ContextVar[Run | None] = ContextVar("workbell_run", default=None)


@contextmanager
def on_behalf_of(run: Run) -> Iterator[None]:
    """What is made in here is traced back to this run, also in a thread that knows of none."""
    here = current_run.set(run)
    try:
        yield
    finally:
        current_run.reset(here)


def traced(new: NewRun) -> NewRun:
    """A request for a run, with the run whose handler makes it."""
    here = current_run.get()
    return new if here is None else msgspec.structs.replace(new, run=with_parent(new.run, here.id))


def depth_behind(run: Run | None) -> int:
    """How many events lie behind a run."""
    return 0 if run is None or run.options_text is None else run.options.depth
