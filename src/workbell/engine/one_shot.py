"""One-shot calls: a round of dispatch or of work that returns, for cron triggers and serverless hosts.

They are made of the duties of an engine, and safe beside engines and other calls: whoever writes first has the tick,
the event, the run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from workbell.errors import InvalidOption, StoreError, StoreUnavailable
from workbell.model.clock import seconds as checked_seconds
from workbell.model.ids import new_id
from workbell.model.one_shot import (
    CONSUME_SECONDS,
    CONSUMED_RUNS,
    DISPATCH_LIMIT,
    MOST_CONSUMED,
    MOST_DISPATCHED,
    Consumed,
    Dispatched,
)
from workbell.process.event_loop import is_in_a_loop
from workbell.process.identity import process_name
from workbell.stores.measuring import follow_time

# The verbs are methods of every Workbell; the duties behind them are loaded when one is called.
if TYPE_CHECKING:
    from workbell.claims.claiming import Claims
    from workbell.engine.consume_round import ConsumeRound
    from workbell.engine.handler_processes.entry import Entry
    from workbell.job_files.job_folder import JobFolder
    from workbell.model.run import Run
    from workbell.queues.guarded import GuardedQueue
    from workbell.runs.runtime import Runtime
    from workbell.settings import Settings

log = logging.getLogger("workbell.engine")

MOST_SECONDS = 86_400.0  # of one `consume`
SEND_AGAIN = timedelta(seconds=60)  # a run that was queued so long ago is sent again: its message may be lost
CLEANING = 5  # batches of history that one call removes


class OneShot:
    """`isolated` and `apart` are those of an engine; `engine_runs`: an engine of this process has loaded everything."""

    def __init__(
        self,
        runtime: Runtime,
        settings: Callable[[], Settings],
        queue: GuardedQueue | None,
        folder: JobFolder,
        *,
        isolated: Callable[[], Entry],
        apart: Callable[[], bool],
        engine_runs: Callable[[], bool],
    ) -> None:
        self._runtime = runtime
        self._settings = settings
        self._queue = queue
        self._folder = folder
        self._isolated = isolated
        self._apart = apart
        self._engine_runs = engine_runs
        self.start: Callable[[], None] = folder.start  # loads the jobs; the command line has its own way
        self._loading = threading.Lock()
        self._declared_at: float | None = None

    # Dispatch

    def dispatch(self, *, limit: int = DISPATCH_LIMIT) -> Dispatched:
        """Do one round of what is due, up to `limit` of each kind, and say what it was.

        Due ticks of schedules and waiting events become runs, due runs and retries are queued, runs whose worker is
        gone go back to the queue, and history past its retention is removed. What was queued is sent to the queue, if
        there is one beside the store; so is what has been queued for a minute, as a message may be lost.
        """
        from workbell.engine.due_round import DueRound
        from workbell.engine.lease_watch import sure_after

        _check_limit(limit, MOST_DISPATCHED)
        self._load()
        runtime, settings = self._runtime, self._settings()
        store, sent = runtime.store, 0

        def announce(runs: Iterable[Run]) -> None:
            nonlocal sent
            store.wake()
            runtime.wake()
            sent += 0 if self._queue is None else self._queue.announce(runs)

        follow_time(store)
        sure = sure_after(settings.lease_span)
        done = DueRound(runtime, settings, announce, sure).take(store.clock.now(), limit)
        if self._queue is not None:
            sent += self._queue.announce(store.runs.pending(queued_before=store.clock.now() - SEND_AGAIN, limit=limit))
        return msgspec.structs.replace(done, removed=self._clean(), sent=sent)

    async def adispatch(self, *, limit: int = DISPATCH_LIMIT) -> Dispatched:
        """`dispatch` for async code."""
        return await self._runtime.hop_apart(lambda: self.dispatch(limit=limit))

    def _clean(self) -> int:
        from workbell.engine.clean_history import CleanHistory

        runtime, settings = self._runtime, self._settings()
        worker = f"{process_name()}/{new_id()[-12:]}"
        clean = CleanHistory(
            runtime.store, runtime.booking, runtime.tenant, worker, settings.clean_every, settings.lease_span
        )
        try:
            return clean.once(CLEANING)
        except StoreUnavailable:
            raise
        except StoreError as error:  # no reason to dispatch nothing
            log.error("history cannot be cleaned: %s", error)
            return 0

    # Consume

    def consume(
        self,
        *,
        message: str | bytes | Mapping[str, Any] | None = None,
        runs: Sequence[str] | None = None,
        limit: int = CONSUMED_RUNS,
        seconds: float = CONSUME_SECONDS,
    ) -> Consumed:
        """Claim runs as a worker does and execute them here, until none is left, or `limit` or `seconds` are reached.

        With `message`, one of a queue as it was delivered, or its fields: just the run that it names, as far as it can
        start now. With `runs`, ids of runs: just these. What has not ended after `seconds` is handed
        back, nothing spent, and async and isolated handlers are stopped; so give a job that takes longer a worker.
        """
        work = self.begin(message=message, runs=runs, limit=limit, seconds=seconds)
        import asyncio

        if not is_in_a_loop():
            return asyncio.run(work.run())
        # An event loop cannot run another one inside it.
        with ThreadPoolExecutor(1, thread_name_prefix="workbell-consume") as thread:
            return thread.submit(asyncio.run, work.run()).result()

    async def aconsume(
        self,
        *,
        message: str | bytes | Mapping[str, Any] | None = None,
        runs: Sequence[str] | None = None,
        limit: int = CONSUMED_RUNS,
        seconds: float = CONSUME_SECONDS,
    ) -> Consumed:
        """`consume` for async code; async handlers are executed on the running event loop."""
        return await self.begin(message=message, runs=runs, limit=limit, seconds=seconds).run()

    def begin(
        self,
        *,
        message: str | bytes | Mapping[str, Any] | None = None,
        runs: Sequence[str] | None = None,
        limit: int = CONSUMED_RUNS,
        seconds: float = CONSUME_SECONDS,
    ) -> ConsumeRound:
        """A round that is about to start, and can be stopped while it runs."""
        from workbell.engine.consume_round import ConsumeRound
        from workbell.queues.message import decode

        if message is not None:
            if runs is not None:
                raise InvalidOption("runs: the message names a run already; give one of the two.")
            runs = [decode(message)]
        if runs is not None and (
            isinstance(runs, str) or not isinstance(runs, Sequence) or not all(isinstance(one, str) for one in runs)
        ):
            raise InvalidOption("runs: give a list of ids, such as [run.id].")
        if runs is not None and len(runs) > MOST_CONSUMED:
            raise InvalidOption(f"runs: {len(runs):,} ids are more than {MOST_CONSUMED:,}; call more than once.")
        _check_limit(limit, MOST_CONSUMED)
        span = checked_seconds("seconds", seconds)
        if not 0 < span <= MOST_SECONDS:
            raise InvalidOption(f"seconds: {span:g} is not more than 0 and up to {MOST_SECONDS:g}.")
        ids = None if runs is None else tuple(dict.fromkeys(runs))
        return ConsumeRound(
            self._runtime,
            self._settings(),
            claims=self._claims,
            ids=ids,
            limit=limit if ids is None else max(len(ids), 1),
            seconds=span,
            load=self._load,
            isolated=self._isolated,
            apart=self._apart,
        )

    def _claims(self, ids: Sequence[str] | None) -> Claims:
        from workbell.claims.chosen import ChosenClaims
        from workbell.claims.claiming import FairClaims

        store = self._runtime.store
        return FairClaims(store, claims_per_survey=1) if ids is None else ChosenClaims(store, ids)

    # Code

    def _load(self) -> None:
        """Load the jobs, and declare their schedules and triggers, as an engine does when it starts."""
        if self._engine_runs():
            return
        from workbell.engine.scheduler_half import DECLARE_PACE

        store = self._runtime.store
        with self._loading:
            moment = store.clock.monotonic()
            if self._declared_at is None:
                store.check()
                follow_time(store)
                self.start()
                self._runtime.declare_jobs()
                self._runtime.publisher.poll()
            elif moment - self._declared_at >= DECLARE_PACE:
                self._folder.declare_again()
            else:
                return
            self._declared_at = moment


def _check_limit(limit: object, most: int) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidOption(f"limit: {limit!r:.40} is not a whole number from 1 to {most:,}.")
