"""Call of a handler, with its context, and its outcome: whatever a handler returns or raises becomes an outcome."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from workbell.engine.around_run import call_around, call_async_around
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.results import akeep_result, keep_result
from workbell.engine.work import Work
from workbell.handlers.context import Context, commit_database, end_database, is_still_held, uses_database
from workbell.handlers.current_run import current_run
from workbell.logs.facts import run_facts
from workbell.model.clock import Clock
from workbell.model.error_text import describe_error
from workbell.model.outcome import HANDED_BACK, EndedOutcome, Failed, Outcome, Raised, read_return
from workbell.runs.job_services import RuntimeServices
from workbell.runs.runtime import Runtime
from workbell.scheduling.rule import judge_start

log = logging.getLogger("workbell.engine")

Done = Callable[[Work, Outcome], None]

MOST_TENANTS = 1000  # whose services are kept
SILENT = 10.0  # seconds without an unstarted run, until the next one is logged
INTERNAL = "internal"  # the reason of a run that failed between its handler and its booking


class HandlerTimeout(Exception):
    """The handler did not return within its time."""


class ProcessorTimeUsedUp(Exception):
    """The handler has used up its CPU time."""


class Contexts:
    """Makes what `ctx` can do, for the tenant of the run."""

    def __init__(self, runtime: Runtime, reports: ProgressAndLogs) -> None:
        self._runtime = runtime
        self._services: dict[str, RuntimeServices] = {}
        self._reports = reports

    def make(self, work: Work) -> Context | None:
        """None, if neither the handler nor a hook around it can take a context."""
        if not work.job.signature.wants_context and not work.job.hooks:
            return None
        reports = self._reports
        return Context(
            work.run, self.services_of(work.run.tenant), reports.progress, lambda: work.stopping, reports.save_line
        )

    def services_of(self, tenant: str) -> RuntimeServices:
        """Services for the tenant of a run: what its handler enqueues belongs to that tenant."""
        if tenant not in self._services:
            if len(self._services) >= MOST_TENANTS:
                self._services = {}
            self._services[tenant] = RuntimeServices(self._runtime.for_tenant(tenant))
        return self._services[tenant]


def call_plain(work: Work, context: Context | None) -> Outcome:
    """Call a plain function, in the thread this runs in. The context may be None if the function takes none."""
    try:  # checked again, because the code may have changed since the enqueue
        given = work.job.signature.decode(work.run.input_text)
    except Exception as error:  # noqa: BLE001  types of the application's own can raise anything
        return Raised(error, "input")
    function = work.job.function
    here = current_run.set(work.run)
    try:
        if work.job.hooks:
            outcome = call_around(work, context, given)
        else:
            value = function(context, **given) if work.job.signature.wants_context else function(**given)
            outcome = read_return(value)
            if isinstance(outcome, Raised):
                outcome = keep_result(work, outcome)
        return outcome if context is None else _committed(work, context, outcome)
    except BaseException as error:  # noqa: BLE001  sys.exit() in a handler ends the handler, not the worker
        return stopped(work) or Raised(error)
    finally:
        current_run.reset(here)
        if context is not None:
            end_database(context)


async def call_async(work: Work, context: Context | None) -> Outcome:
    """Await an async function, in the task this runs in."""
    try:  # checked again, because the code may have changed since the enqueue
        given = work.job.signature.decode(work.run.input_text)
    except Exception as error:  # noqa: BLE001  types of the application's own can raise anything
        return Raised(error, "input")
    function = work.job.function
    limit = work.timeout
    here = current_run.set(work.run)
    try:
        hooks = work.job.hooks
        if hooks:
            called = call_async_around(work, context, given)
        else:
            called = function(context, **given) if work.job.signature.wants_context else function(**given)
        if limit is None:
            value = await called
        else:
            async with asyncio.timeout(limit) as scope:
                value = await called
        outcome = value if hooks else read_return(value)
        if not hooks and isinstance(outcome, Raised):
            outcome = await akeep_result(work, outcome)
        return outcome if context is None else _committed(work, context, outcome)
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
        if context is not None:
            end_database(context)


def _committed(work: Work, context: Context, outcome: Outcome) -> Outcome:
    """The outcome of a handler that returned, with what it wrote to the application's database committed.

    If the lease is lost, nothing is committed: the worker that has the run now executes it again.
    """
    if not uses_database(context) or isinstance(outcome, Raised):
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
    if work.release or work.lost or work.overdue:
        return HANDED_BACK
    return None


class Starts:
    """Asked right before each call of a handler: whether it may still be called.

    A process that was stopped, or whose machine was suspended, goes on with works whose leases have ended meanwhile:
    another worker may have executed them. They are handed back, which the store refuses if that is so. Where a keeper
    has renewed them, they are claimed again.

    Works also wait here until the window of their schedule has closed; one whose options cannot be read fails here.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boottime = clock.boottime
        self._silent_until = -math.inf

    def refused(self, work: Work) -> Outcome | None:
        """Outcome of a work whose handler is not to be called; none, if it may be."""
        if work.lost or work.release or work.cancel_reason is not None:
            return HANDED_BACK  # the booking ends a canceled run
        if work.valid_until is None or (moment := self._boottime()) < work.valid_until:
            return None if work.run.options_text is None else judge_start(work.run, self._clock.now())
        if moment >= self._silent_until:  # one line for all of them
            text = "run %s: its lease ended %.1f s ago, before its handler was called; such runs go back to the queue"
            log.warning(text, work.run.id, moment - work.valid_until, extra=run_facts(work.run))
        self._silent_until = moment + SILENT
        return HANDED_BACK


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
