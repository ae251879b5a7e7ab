"""The verbs about runs: `bell.runs(…)` lists them; `bell.runs.get`, cancel, retry, wait and others take one or many.

Sync, and async with an `a`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, Unpack

import msgspec

from workbell.errors import InvalidOption, RunNotFinished
from workbell.model.job import BULK, CLEAN, refused
from workbell.model.job import name as checked_name
from workbell.model.json_text import encode
from workbell.model.request import Request, again, plain_request
from workbell.model.run import Attempt, Lane, Run, last_attempt
from workbell.model.run_filter import FilterOptions, WordKind, names_of
from workbell.model.run_page import Counted, RunPage
from workbell.model.state import CANCELED
from workbell.model.tally_chart import LONGEST_CHART, TallyChart
from workbell.process.event_loop import warn_of_blocking
from workbell.runs import control
from workbell.runs.filters import read_filter
from workbell.runs.lookup import find_run, why_waiting
from workbell.runs.runtime import Runtime, in_thread
from workbell.runs.tally_chart import ChartQuery
from workbell.stores.port import MOST_ATTEMPTS

if TYPE_CHECKING:
    from workbell.model.log_line import LogLine
    from workbell.runs.enqueuing import Enqueuing
    from workbell.wire.runs import RunShown

# Words that `store.runs.list` does not know, or that no index serves.
SEARCHED = names_of(WordKind.EVENT, WordKind.YES_NO, WordKind.INPUT)
PAGE_TEXT = 4 * 1024 * 1024  # characters of inputs, results and errors: encoding a page blocks its sender
LOG_PAGE = 1000
PACE = 0.25  # seconds between two reads of a run that is watched

BEGINNING = (0, -1)

AnyRun = TypeVar("AnyRun", Run, "RunShown", "Run | RunShown")


class Runs:
    """The runs of a tenant: `bell.runs`."""

    def __init__(self, runtime: Runtime, enqueuing: Enqueuing) -> None:
        self._runtime = runtime
        self._enqueuing = enqueuing

    # Many

    def __call__(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> list[Run]:
        """Runs by filter, newest first; `before` is the id of the last run of the page before.

        `bell.runs(status="failed", since=yesterday, input={"customer.id": 42})`. By an event, a field of the input or
        `retried` all runs are read that the other words leave; `page_of_runs` stops after a while.
        """
        asked = read_filter(self._runtime, wanted, before, limit)
        store = self._runtime.store
        if all(getattr(asked, word) in (None, ()) for word in SEARCHED):
            return store.runs.list(asked)
        found: list[Run] = []
        while True:
            runs, searched_to = store.reports.search(asked._replace(limit=limit - len(found)))
            found += runs
            if searched_to is None or len(found) >= limit:
                return found
            asked = asked._replace(before=searched_to)

    acall = in_thread(__call__)

    def page(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> RunPage:
        """The same in bounded time and size: a page may have fewer, or none; go on `before` its `next`."""
        runs, searched_to = self._runtime.store.reports.search(read_filter(self._runtime, wanted, before, limit))
        most = _fitting(runs)
        return RunPage(runs, searched_to) if most == len(runs) else RunPage(runs[:most], runs[most - 1].id)

    apage = in_thread(page)

    def count(self, **wanted: Unpack[FilterOptions]) -> Counted:
        """How many runs there are by a filter: counted up to 10,000, and among no more than the last 20,000 where each
        has to be read."""
        return self._runtime.store.reports.count(read_filter(self._runtime, wanted))

    acount = in_thread(count)

    def tallies(self, minutes: int = 60, *, job: str | None = None, queue: str | None = None) -> TallyChart:
        """Numbers of finished attempts over the last minutes, up to a week: by steps of time, and by job.

        A step is as long as it takes to have no more than 120 of them. What ended in the newest seconds may be missing:
        each worker adds up by itself, and writes that down every five seconds.
        """
        return self._runtime.tally_charts.read(self._chart_query(minutes, job, queue))

    async def atallies(self, minutes: int = 60, *, job: str | None = None, queue: str | None = None) -> TallyChart:
        """`tallies` for async code; simultaneous calls with the same arguments share one read."""
        asked = self._chart_query(minutes, job, queue)
        return await self._runtime.tally_charts.aread(asked, self._runtime.threads.pool)

    def _chart_query(self, minutes: int, job: str | None, queue: str | None) -> ChartQuery:
        if not 1 <= minutes <= LONGEST_CHART:
            raise InvalidOption(f"minutes: {minutes} is not from 1 to {LONGEST_CHART}.")
        for kind, value in (("job", job), ("queue", queue)):
            if value is not None:
                checked_name(kind, value, InvalidOption)
        return ChartQuery(self._runtime.tenant, minutes, job, queue)

    def bulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> Run:
        """Cancel or retry all runs of a filter that were made before now: a run of its own does it, with progress.

        `bell.bulk("retry", job="send", status="failed", since=yesterday)`. Without a status, `cancel` means all runs
        that have not ended, and `retry` those that failed. `retry` leaves out what was retried before, however often it
        is asked for. The result has `matched`, `done`, `skipped` and the first `errors`; with `dry_run` it is only
        counted what matches. It can be waited for, watched and canceled as any run.
        Runs of Workbell's own jobs, such as webhooks and alerts, are meant only if their job is named.
        """
        from workbell.bulk.bulk_request import BULK_QUEUE, as_input, meant, read_action

        asked = read_action(action)
        chosen = read_filter(self._runtime, meant(asked, wanted))
        text = encode("bulk", as_input(asked, chosen, bool(dry_run)))
        new = plain_request(Lane(self._runtime.tenant, BULK_QUEUE, BULK), text, self._runtime.store.clock.now())
        return self._enqueuing.write([Request(new)])[0]

    abulk = in_thread(bulk)

    # One

    def get(self, run_id: str) -> Run:
        """A run by its id."""
        return find_run(self._runtime, run_id)

    aget = in_thread(get)

    def attempts(self, run_id: str, *, after: int = 0, limit: int = MOST_ATTEMPTS) -> list[Attempt]:
        """Attempts of a run, oldest first, from beyond number `after`: who worked on it, and how each ended.

        A run that snoozes may have any number of them: `after=max(run.attempt - 20, 0)` are the newest 20.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_ATTEMPTS:
            raise InvalidOption(f"limit: {limit!r} is not from 1 to {MOST_ATTEMPTS:,}.")
        if isinstance(after, bool) or not isinstance(after, int) or after < 0:
            raise InvalidOption(f"after: {after!r} is not the number of an attempt.")
        run = self.get(run_id)
        found = self._runtime.store.runs.attempts(run.id, after=after, limit=limit)
        last = last_attempt(run)
        if last is None or last.number <= after or len(found) >= limit:
            return found
        return [*found, last]

    aattempts = in_thread(attempts)

    def logs(self, run_id: str, *, after: LogLine | None = None, limit: int = LOG_PAGE) -> list[LogLine]:
        """Log lines of a run, written with `ctx.logger`, oldest first; `after` is the last one of the page before."""
        if not 1 <= limit <= LOG_PAGE:
            raise InvalidOption(f"limit: {limit} is not from 1 to {LOG_PAGE}.")
        position = BEGINNING if after is None else (after.attempt, after.line)
        return self._runtime.store.logs.list(self.get(run_id).id, after=position, limit=limit)

    alogs = in_thread(logs)

    def why(self, run_id: str) -> str:
        """Why a run is not running (or how it ended), in a sentence or two."""
        return why_waiting(self._runtime, self.get(run_id)).text

    awhy = in_thread(why)

    def cancel(self, run_id: str, reason: str = CANCELED) -> Run:
        """Cancel a run. If no worker has claimed it, it ends at once: the answer has the status `canceled`, and its
        handler is not called any more. Otherwise its worker is asked to stop it: the answer has `cancel_requested`, and
        its handler may have begun, or begin before the worker is told, usually within 0.1 s."""
        return control.cancel(self._runtime, run_id, reason)

    acancel = in_thread(cancel)

    def retry(self, run_id: str) -> Run:
        """Run a finished run's job again, with the same input: a new run, linked by `retry_of`."""
        run = self.get(run_id)
        if not run.status.final:
            raise RunNotFinished(f"run {run_id} is {run.status}; cancel it, or wait until it has ended.")
        if run.job == CLEAN:
            raise refused(run.job)
        new = again(run, self._runtime.store.clock.now(), self._runtime.maker, retry_of=run.id)
        return control.retry_matched(self._runtime, run, new) or self._enqueuing.write([Request(new)])[0]

    aretry = in_thread(retry)

    # Wait

    def wait(self, run_id: str, timeout: float | timedelta | None = None) -> Run:
        """Wait until a run has ended, and return it; raises WaitTimeout when the time is over first."""
        warn_of_blocking("bell.wait", "`await bell.await_(…)`")
        return self._runtime.waiter.wait(self.get(run_id).id, timeout)

    async def await_(self, run_id: str, timeout: float | timedelta | None = None) -> Run:
        """`wait` for async code; any number of waits share one thread."""
        run = await self.aget(run_id)
        return await self._runtime.waiter.await_(run.id, timeout)

    def watch(self, run_id: str, *, pace: float = PACE) -> Iterator[Run]:
        """A run as it is now, and again whenever it has changed, until it has ended; read every `pace` seconds."""
        _check_pace(pace)
        warn_of_blocking("bell.watch", "`async for run in bell.awatch(…)`")
        last: Run | None = None
        for run in polled(self.get, run_id, pace):
            if last is None or _is_news(run, last):
                last = run
                yield run

    async def awatch(self, run_id: str, *, pace: float = PACE) -> AsyncIterator[Run]:
        """`watch` for async code: `async for run in bell.awatch(run_id)`."""
        import asyncio

        _check_pace(pace)
        last: Run | None = None
        while last is None or not last.status.final:
            if last is not None:
                await asyncio.sleep(pace)
            run = await self.aget(run_id)
            if last is None or _is_news(run, last):
                last = run
                yield run


def _check_pace(pace: float) -> None:
    if not pace > 0:
        raise InvalidOption(f"pace: {pace} is not more than 0.")


def _is_news(run: Run, last: Run) -> bool:
    """Whether a run has changed; its lease is renewed again and again, and no news."""
    return msgspec.structs.replace(run, lease_until=last.lease_until) != last


def polled(get: Callable[[str], AnyRun], run_id: str, pace: float = PACE) -> Iterator[AnyRun]:
    """A run again and again, changed or not, until it has ended."""
    while True:
        run = get(run_id)
        yield run
        if run.status.final:
            return
        time.sleep(pace)


def _fitting(runs: Sequence[Run]) -> int:
    """How many of these make a page that is not too large; one at least."""
    size = 0
    for index, run in enumerate(runs):
        size += sum(len(text) for text in (run.input_text, run.result_text, run.error) if text is not None)
        if size > PAGE_TEXT and index:
            return index
    return len(runs)
