"""Calls of handlers inside the application's hooks, the first declared one outermost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from workbell.engine.results import akeep_result, keep_result
from workbell.engine.work import Work
from workbell.handlers.context import Context
from workbell.handlers.run_hooks import AsyncSurrounding, RunHook, Surrounding
from workbell.model.outcome import Outcome, Raised, read_return


def call_around(work: Work, context: Context | None, given: Mapping[str, Any]) -> Outcome:
    """Call a plain function inside the hooks; their errors are raised as its own would be."""
    job = work.job
    outcome: Outcome | None = None

    def call() -> None:
        nonlocal outcome
        value = job.function(context, **given) if job.signature.wants_context else job.function(**given)
        outcome = read_return(value)
        if isinstance(outcome, Raised):
            outcome = keep_result(work, outcome)
        _raise_unstorable(outcome)

    try:
        _within(tuple(job.hooks), context, call)
    except BaseException as error:
        if not _is_of(outcome, error):
            raise
    assert outcome is not None
    return outcome


async def call_async_around(work: Work, context: Context | None, given: Mapping[str, Any]) -> Outcome:
    """Await an async function inside the hooks, in the same task; plain hooks are called on the event loop."""
    job = work.job
    outcome: Outcome | None = None

    async def call() -> None:
        nonlocal outcome
        value = await (job.function(context, **given) if job.signature.wants_context else job.function(**given))
        outcome = read_return(value)
        if isinstance(outcome, Raised):
            outcome = await akeep_result(work, outcome)
        _raise_unstorable(outcome)

    try:
        await _async_within(tuple(job.hooks), context, call)
    except BaseException as error:
        if not _is_of(outcome, error):
            raise
    assert outcome is not None
    return outcome


def _within(hooks: Sequence[RunHook], context: Context | None, call: Callable[[], None]) -> None:
    if not hooks:
        call()
        return
    with Surrounding(hooks[0], context):
        _within(hooks[1:], context, call)


async def _async_within(hooks: Sequence[RunHook], context: Context | None, call: Callable[[], Awaitable[None]]) -> None:
    if not hooks:
        await call()
    elif hooks[0].is_async:
        async with AsyncSurrounding(hooks[0], context):
            await _async_within(hooks[1:], context, call)
    else:
        with Surrounding(hooks[0], context):
            await _async_within(hooks[1:], context, call)


def _raise_unstorable(outcome: Outcome) -> None:
    """A value that cannot be stored fails the run: hooks get its error as if the handler had raised it, so that one
    that commits at success does not."""
    if isinstance(outcome, Raised):
        raise outcome.error


def _is_of(outcome: Outcome | None, error: BaseException) -> bool:
    return isinstance(outcome, Raised) and outcome.error is error
