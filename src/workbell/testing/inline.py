"""Inline mode: inside this block the call that enqueues a due run executes it.

Input and result still go through the store as JSON, so what only works with live objects fails here as it would
with a worker. Runs that handlers enqueue are executed when the handler has returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from workbell.client.local import LocalClient
from workbell.model.run import Run
from workbell.testing.drain import drain

C = TypeVar("C", bound=LocalClient)


def is_inline(bell: LocalClient) -> bool:
    """Whether an enqueue of this Workbell executes."""
    return bell.runtime.hooks.read_back is not None


@contextmanager
def inline(bell: C, *, raise_errors: bool = False) -> Iterator[C]:
    """Execute due runs at each enqueue; `enqueue` then answers with the run as it is afterwards.

    `raise_errors` lets the first error of a handler out of the call that enqueued it.
    """
    busy = False
    hooks = bell.runtime.hooks
    before = hooks.wake, hooks.read_back, hooks.announce

    def execute() -> None:
        nonlocal busy
        if busy:
            return  # inside a handler: the drain that called it goes on with what it enqueued
        busy = True
        try:
            drain(bell, raise_errors=raise_errors)
        finally:
            busy = False

    def now(runs: Sequence[Run]) -> list[Run]:
        found = bell.store.runs.find([run.id for run in runs])
        return [found.get(run.id, run) for run in runs]

    hooks.wake, hooks.read_back, hooks.announce = execute, now, None
    try:
        yield bell
    finally:
        hooks.wake, hooks.read_back, hooks.announce = before
