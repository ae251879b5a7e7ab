"""Call of a handler, and its outcome: whatever a handler returns or raises becomes an outcome here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from workbell.engine.work import Work
from workbell.handlers.context import Context, commit_database, end_database, is_still_held, uses_database
from workbell.handlers.current_run import current_run
from workbell.logs.facts import run_facts
from workbell.model.error_text import describe_error
from workbell.model.outcome import HANDED_BACK, EndedOutcome, Failed, Outcome, Raised, read_return

log = logging.getLogger("workbell.engine")

Done = Callable[[Work, Outcome], None]

INTERNAL = "internal"  # the reason of a run that failed between its handler and its booking


class HandlerTimeout(Exception):
    """The handler did not return within its time."""


class ProcessorTimeUsedUp(Exception):
    """The handler has used up its CPU time."""


def arguments(work: Work) -> dict[str, Any] | Raised:
    """Input in the types of the handler; checked again, because the code may have changed since the enqueue."""
    try:
        return work.job.signature.decode(work.run.input_text)
    except Exception as error:  # noqa: BLE001  types of the application's own can raise anything
        return Raised(error, "payload")


def call_plain(work: Work, context: Context | None) -> Outcome:
    """Call a plain function, in the thread this runs in. The context may be None if the function takes none."""
    given = arguments(work)
    if isinstance(given, Raised):
        return given
    function = work.job.function
    here = current_run.set(work.run)
    try:
        value = function(context, **given) if work.job.signature.wants_context else function(**given)
        return _committed(work, context, read_return(value))
    except BaseException as error:  # noqa: BLE001  sys.exit() in a handler ends the handler, not the worker
        return stopped(work) or Raised(error)
    finally:
        current_run.reset(here)
        end_database(context)


async def call_async(work: Work, context: Context | None) -> Outcome:
    """Await an async function, in the task this runs in."""
    given = arguments(work)
    if isinstance(given, Raised):
        return given
    function = work.job.function
    limit = work.timeout
    here = current_run.set(work.run)
    try:
        called = function(context, **given) if work.job.signature.wants_context else function(**given)
        if limit is None:
            return _committed(work, context, read_return(await called))
        async with asyncio.timeout(limit) as scope:
            value = await called
        return _committed(work, context, read_return(value))
    except TimeoutError as error:
        if limit is not None and scope.expired():
            return timed_out(work)
        return Raised(error)
    except asyncio.CancelledError as error:
        # Ours, if something was asked of the work; else the handler let a cancellation of its own escape.
        return stopped(work) or Raised(error)
    except BaseException as error:  # noqa: BLE001  see call_plain
        return stopped(work) or Raised(error)
    finally:
        current_run.reset(here)
        end_database(context)


def _committed(work: Work, context: Context | None, outcome: Outcome) -> Outcome:
    """The outcome of a handler that returned, with what it wrote to the application's database committed.

    If the lease is lost, nothing is committed: the worker that has the run now executes it again.
    """
    if context is None or not uses_database(context) or isinstance(outcome, Raised):
        return outcome
    if work.settled or work.lost or work.timed_out or not is_still_held(context, work.valid_until):
        return stopped(work) or HANDED_BACK
    commit_database(context)
    return outcome


def timed_out(work: Work) -> Raised:
    limit = work.timeout
    return Raised(HandlerTimeout(f"{work.run.job} did not return within {limit:g} s"), "timeout")


def used_up(work: Work) -> Raised:
    limit = None if work.job.isolation is None else work.job.isolation.cpu
    allowed = "all the time that it may" if limit is None else f"the {limit:g} s that it may"
    return Raised(ProcessorTimeUsedUp(f"{work.run.job} has computed for {allowed}"), "cpu")


def stopped(work: Work) -> Outcome | None:
    """Outcome of an error, or of the end of its process, after the handler was asked to stop."""
    if work.timed_out:
        return timed_out(work)
    if work.cancel_reason is not None:
        return EndedOutcome(work.cancel_reason)
    if work.release or work.lost:
        return HANDED_BACK
    return None


def book_safely(done: Done, work: Work, outcome: Outcome) -> None:
    """Call `done` with an outcome, and let no error of it hold the slot.

    Where an outcome cannot be booked, the run fails with that error. Where even that is impossible, the work is
    dropped: its lease runs out, and the run is recovered.
    """
    try:
        done(work, outcome)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = "run %s: what came of it cannot be booked; it fails with this error"
        log.exception(text, work.run.id, extra=run_facts(work.run))
        try:
            done(work, unbooked(error))
        except BaseException:
            log.exception("run %s: it is dropped; its lease will run out", work.run.id, extra=run_facts(work.run))
            _drop(done, work)


def _drop(done: Done, work: Work) -> None:
    work.lost = True  # then nothing is written
    try:
        done(work, HANDED_BACK)
    except BaseException:
        log.exception("run %s: it cannot be dropped", work.run.id, extra=run_facts(work.run))


def unbooked(error: BaseException) -> Failed:
    """The outcome of a run whose own outcome raised this when it was to be booked."""
    return Failed(describe_error(error), INTERNAL, final=True)
