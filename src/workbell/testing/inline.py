"""Enqueue means execute: inside this block a due run is executed by the very call that enqueues it.

Payload and result still go through the store as JSON, so what only works with live objects fails here as it would
with a worker. Runs that handlers enqueue are executed when the handler has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from workbell.client.client import Client
from workbell.model.request import Request
from workbell.model.run import Run
from workbell.testing.drain import drain

C = TypeVar("C", bound=Client)


@contextmanager
def inline(bell: C, *, raise_errors: bool = False) -> Iterator[C]:
    """Execute due runs at each enqueue; `enqueue` then answers with the run as it is afterwards.

    `raise_errors` lets the first error of a handler out of the call that enqueued it.
    """
    busy = False
    before: Callable[[], None] = bell.nudge

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

    def enqueue_requests(requests: Sequence[Request]) -> list[Run]:
        return now(type(bell).enqueue_requests(bell, requests))

    async def aenqueue_requests(requests: Sequence[Request]) -> list[Run]:
        return now(await type(bell).aenqueue_requests(bell, requests))

    bell.nudge = execute
    bell.enqueue_requests = enqueue_requests  # type: ignore[method-assign]
    bell.aenqueue_requests = aenqueue_requests  # type: ignore[method-assign]
    try:
        yield bell
    finally:
        bell.nudge = before
        del bell.enqueue_requests, bell.aenqueue_requests
