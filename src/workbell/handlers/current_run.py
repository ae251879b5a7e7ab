"""Context variable of the current run: runs and events that a handler makes have it as their parent."""

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
    """Set the current run in a block, for threads that do not inherit it."""
    before = current_run.set(run)
    try:
        yield
    finally:
        current_run.reset(before)


def traced(new: NewRun) -> NewRun:
    """The request for a run, with the current run as its parent."""
    parent = current_run.get()
    return new if parent is None else msgspec.structs.replace(new, run=with_parent(new.run, parent.id))


def depth_behind(run: Run | None) -> int:
    """Length of the chain of events that led to a run."""
    return 0 if run is None or run.options_text is None else run.options.depth
