"""The verbs for steering runs: cancel, retry and wait. Sync, and async with an `a`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta

from workbell.errors import EventNotFound, RunNotFinished
from workbell.events.publishing import EventPublishing
from workbell.handlers.current_run import traced
from workbell.model import state
from workbell.model.event import Match, MatchOutcome, Rematch
from workbell.model.job import CLEAN, refused
from workbell.model.payload import clean_text
from workbell.model.request import Request, again
from workbell.model.run import PENDING, NewRun, Run, Status
from workbell.model.run_defaults import Maker
from workbell.model.state import CANCELED, Retention
from workbell.runs.booking import Booking
from workbell.runs.lookup import Reading
from workbell.runs.waiter import Waiter


class Steering(Reading):
    """The part of a client that ends runs, makes them again and waits for them."""

    keep: Retention
    waiter: Waiter
    telling: EventPublishing
    nudge: Callable[[], None]
    booking: Booking

    @property
    @abstractmethod
    def maker(self) -> Maker: ...

    @abstractmethod
    def enqueue_requests(self, requests: Sequence[Request]) -> list[Run]: ...

    def cancel(self, run_id: str, reason: str = CANCELED) -> Run:
        """End a run: at once if it has not started, else its handler is asked to stop."""
        reason = clean_text(reason, 500)
        while True:
            run = self.get(run_id)
            if run.status in PENDING:
                ended = self.cancel_pending([run], reason)
                if ended:
                    return ended[run.id]
            elif run.status is Status.RUNNING:
                if self.store.runs.request_cancel(run.id, reason):
                    self.store.wake()
                    self.nudge()
                    return self.get(run_id)
            else:
                return run
            # It moved between reading and writing: look again.

    def cancel_pending(self, runs: Sequence[Run], reason: str) -> dict[str, Run]:
        """End runs that have not started, in one transaction; those that really had not, as they are now."""
        now = self.store.clock.now()
        self.telling.look()
        ended = self.booking.book(
            [(run, state.cancel(run, now, reason=reason, keep=state.kept(run, self.keep).other)) for run in runs]
        )
        if any(change.emits for _, change in ended):
            self.store.wake()
            self.nudge()
        return {run.id: change.after(run) for run, change in ended}

    async def acancel(self, run_id: str, reason: str = CANCELED) -> Run:
        return await self.hop(self.cancel, run_id, reason)

    def retry(self, run_id: str) -> Run:
        """Run a finished run's job again, with the same input: a new run, linked by `retry_of`."""
        run = self.get(run_id)
        if not run.status.final:
            raise RunNotFinished(f"run {run_id} is {run.status}; cancel it, or wait until it has ended.")
        if run.job == CLEAN:
            raise refused(run.job)
        new = again(run, self.store.clock.now(), self.maker, retry_of=run.id)
        return self.retry_matched(run, new) or self.enqueue_requests([Request(new)])[0]

    def retry_matched(self, run: Run, new: NewRun) -> Run | None:
        """Of a run that an event made, the new one takes its place in the ledger; none, if another has that."""
        trigger = run.options.trigger
        if run.event is None or trigger is None:
            return None
        if run.event not in self.store.events.find([run.event]):
            raise EventNotFound(f"run {run.id}: its event {run.event} was removed, so it cannot be run again; emit it.")
        new = traced(new)
        match = Match(run.event, trigger, MatchOutcome.STARTED, new.run.created_at, new.run.id)
        made = self.store.events.rematch([Rematch(new, match, run.id)])
        if made:
            self.nudge()
        return new.run if made else None

    async def aretry(self, run_id: str) -> Run:
        return await self.hop(self.retry, run_id)

    def wait(self, run_id: str, timeout: float | timedelta | None = None) -> Run:
        """Wait until a run has ended, and return it; raises WaitTimeout when the time is over first."""
        self.get(run_id)
        return self.waiter.wait(run_id, timeout)

    async def await_(self, run_id: str, timeout: float | timedelta | None = None) -> Run:
        """`wait` for async code; any number of waits share one thread."""
        await self.aget(run_id)
        return await self.waiter.await_(run_id, timeout)
