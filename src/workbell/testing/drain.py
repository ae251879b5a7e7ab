"""`drain`: executes due runs in this thread, one after the other, without an engine, always in the same order.

The rules are the engine's own: its functions call the handlers and decide what follows. Only the waiting is left
out: what is not due yet stays where it is. Move the clock, and drain again. A plain handler's timeout is not
enforced, because nothing here could stop it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from random import Random

from workbell.app import Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.client.local import LocalClient
from workbell.engine.consume import limits, serves
from workbell.engine.due_round import DueRound
from workbell.engine.execute import call_async, call_plain, unbooked
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.work import Work
from workbell.errors import UnknownJob, WorkbellError
from workbell.handlers.context import Context
from workbell.model import state
from workbell.model.cancel_snooze import RetryAfter
from workbell.model.clock import ManualClock
from workbell.model.limit import Limit
from workbell.model.outcome import Outcome, Raised, decide
from workbell.model.run import Run
from workbell.model.state import Transition
from workbell.process.event_loop import is_in_a_loop
from workbell.runs.job_services import RuntimeServices
from workbell.scheduling.rule import judge_start
from workbell.settings import Settings

BATCH = 500
MOST = 10_000  # runs: enough for any test, and an end for jobs that enqueue themselves


def drain(bell: LocalClient, *, until_idle: bool = True, raise_errors: bool = False) -> list[Run]:
    """Execute every run that is due now; the runs that ended, in that order.

    With `until_idle`, runs that handlers enqueue on the way are executed too; without it, only what was due at
    the call. A retry that is due later waits for the clock to be moved. `raise_errors` raises the first error of a
    handler, once it is booked, as if the handler had been called directly.
    """
    # Not while a RuntimeError of `get_running_loop` is handled: it would be the context of what handlers raise.
    if not is_in_a_loop():
        return _drain(bell, until_idle, raise_errors)
    # Called from async code: its event loop cannot run another one inside it, so a thread stands in.
    with ThreadPoolExecutor(1, thread_name_prefix="workbell-drain") as thread:
        return thread.submit(_drain, bell, until_idle, raise_errors).result()


def _drain(bell: LocalClient, until_idle: bool, raise_errors: bool) -> list[Run]:
    if isinstance(bell, Workbell):
        _declare(bell)
    ended: list[Run] = []
    with asyncio.Runner() as runner:
        drainer = _Drainer(bell, runner, raise_errors)
        if not until_idle:
            return drainer.execute_all(drainer.claim_all())
        for _ in range(MOST):
            claimed = drainer.claim(1)
            if not claimed:
                return ended
            ended += drainer.execute_all(claimed)
    raise WorkbellError(f"drain: still busy after {MOST:,} runs; does a job enqueue itself, or snooze for no time?")


def _declare(bell: Workbell) -> None:
    """Put what the code declares, as an engine does when it starts; this one, when the test's clock did."""
    if any(job.patterns for job in bell.registry):
        bell.engine.put_triggers()
    if any(job.ticks is not None for job in bell.registry):
        clock = bell.store.clock
        bell.engine.put_code_schedules(since=clock.start if isinstance(clock, ManualClock) else None)


def _rates(found: Sequence[Limit]) -> Sequence[Limit]:
    return [limit._replace(concurrency=None) for limit in found if limit.rate is not None]


class _Drainer:
    def __init__(self, bell: LocalClient, runner: asyncio.Runner, raise_errors: bool) -> None:
        self._bell = bell
        self._store = bell.store
        self._runner = runner
        self._raise_errors = raise_errors
        self._claims = FairClaims(bell.store, claims_per_survey=1)
        settings: Settings = getattr(bell, "settings", None) or Settings()
        self._claimant = Claimant("drain", settings.lease_span, serves(bell.registry, None), limits(bell.registry))
        self._due = DueRound(bell.runtime, settings, lambda _runs: None)
        self._reports = ProgressAndLogs(bell.store, bell.store.clock)
        self._random = Random(0)

    def claim(self, limit: int) -> list[Run]:
        now = self._prepare()
        return self._claims.claim(self._claimant, limit, now)

    def claim_all(self) -> list[Run]:
        now = self._prepare()
        every: list[Run] = []
        # One after the other is no more than one at a time: only rates can hold any of them back.
        claimant = self._claimant._replace(limits=lambda lane: _rates(self._claimant.limits(lane)))
        while runs := self._claims.claim(claimant, BATCH, now):
            every += runs
        return every

    def _prepare(self) -> datetime:
        """Bring everything that is due now into its line."""
        now = self._store.clock.now()
        self._due.take(now)  # what handlers emit on the way is found by the next round
        return now

    def execute_all(self, runs: Sequence[Run]) -> list[Run]:
        ended = []
        for index, run in enumerate(runs):
            try:
                after = self._execute(run)
            except BaseException:
                now = self._store.clock.now()
                self._bell.runtime.booking.book([(left, state.release(left, now)) for left in runs[index + 1 :]])
                raise
            if after.status.final:
                ended.append(after)
        return ended

    def _execute(self, run: Run) -> Run:
        job = self._bell.registry.find_for(run.tenant, run.job)
        if job is None:
            raise UnknownJob(f"There is no job {run.job!r} here; declare it with @bell.job.")
        work = Work(run, job)
        outcome = judge_start(run, self._store.clock.now()) or self._call(work)
        try:
            change = self._decide(work, outcome)
        except Exception as error:  # noqa: BLE001  as in a worker, the run fails with it
            change = self._decide(work, unbooked(error))
        self._bell.runtime.booking.book([(run, change)])
        if isinstance(outcome, Raised) and (self._raise_errors or isinstance(outcome.error, KeyboardInterrupt)):
            raise outcome.error.error if isinstance(outcome.error, RetryAfter) else outcome.error
        return self._store.runs.find([run.id]).get(run.id, change.after(run))

    def _call(self, work: Work) -> Outcome:
        work.begin(self._store.clock)
        self._bell.runtime.publisher.started([work.run])
        context = self._context(work)
        if work.job.is_async:
            outcome = self._runner.run(call_async(work, context), context=contextvars.Context())
        else:
            outcome = contextvars.Context().run(call_plain, work, context)
        self._reports.flush()
        return outcome

    def _decide(self, work: Work, outcome: Outcome) -> Transition:
        return decide(
            work.run,
            outcome,
            self._store.clock.now(),
            started_at=work.started_at,
            job_retry=work.job.retry,
            keep=self._bell.runtime.keep,
            randomness=self._random,
        )

    def _context(self, work: Work) -> Context:
        services = RuntimeServices(self._bell.runtime.for_tenant(work.run.tenant))

        def is_canceled() -> bool:
            found = self._store.runs.find([work.run.id]).get(work.run.id)
            if found is not None and found.cancel_requested:
                work.cancel_reason = found.reason
            return work.stopping

        return Context(work.run, services, self._store.runs.set_progress, is_canceled, self._reports.save_line)
