"""The verbs of Workbell for one tenant: enqueue, get, list, cancel, retry, wait, why. Sync, and async with an `a`.

Every verb is written once and plainly; the async one is the same call on a thread of the store's.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, NamedTuple, ParamSpec, TypeVar, Unpack

import msgspec

from workbell.afresh import in_every_child
from workbell.emitting import Emitting, source_of
from workbell.errors import EventNotFound, InvalidOption, InvalidPayload, RunNotFinished, RunNotFound, UnknownJob
from workbell.events.looking import Events
from workbell.events.subscriptions import Subscriptions
from workbell.events.telling import Telling
from workbell.executions import Executing
from workbell.handlers.current import current_run, depth_behind
from workbell.handlers.job_function import JobFunction
from workbell.handlers.registry import Registry
from workbell.machine import process_name, program_name
from workbell.model import state
from workbell.model.capability import capability
from workbell.model.event import Match, MatchOutcome, Rematch
from workbell.model.ids import is_id
from workbell.model.job import BUILT_IN, QUEUE, TENANT, name
from workbell.model.limit import NO_LIMITS, Limit, Limits, Use, key_of, limits_on
from workbell.model.payload import clean_text, encode
from workbell.model.request import EnqueueOptions, again, make_request, plain_request
from workbell.model.run import PENDING, Added, Attempt, Lane, NewRun, Run, Status, last_attempt
from workbell.model.state import Keep, Transition
from workbell.pausing import Pausing
from workbell.schedules import Schedules
from workbell.stores.port import Filter, Store
from workbell.triggers import Triggers
from workbell.waiting import Waiter
from workbell.watching import Watching
from workbell.webhooks.verbs import Webhooks
from workbell.why import explain

T = TypeVar("T")
P = ParamSpec("P")

PAGE = 1000
CANCELED = "canceled on request"


class Request(NamedTuple):
    """A run that is asked for: checked already, and written by `enqueue_many`."""

    new: NewRun
    connection: Any = None


class Client(Watching, Pausing, Emitting, Executing):
    """What an application does with jobs and runs. `Workbell` is one, for its own tenant."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        tenant: str = TENANT,
        keep: Keep,
        waiter: Waiter | None = None,
        timezone: str | None = None,
        event_source: str | None = None,
        subscriptions: Subscriptions | None = None,
    ) -> None:
        self.store = store
        self.registry = registry
        self.tenant = name("tenant", tenant)
        self.keep = keep
        self.nudge: Callable[[], None] = nothing
        self._ready = False
        self.start_afresh()
        in_every_child(self)
        self.waiter = waiter or Waiter(store)
        self.timezone = timezone
        self.event_source = event_source or source_of(program_name())
        self.subscriptions = subscriptions or Subscriptions(lambda: self.store)
        self.telling = Telling(self.subscriptions)
        self.moved: Callable[[Run, Transition], None] = nobody
        self.schedules = Schedules(self)
        self.triggers = Triggers(self)
        self.events = Events(self)
        self.webhooks = Webhooks(self)

    def start_afresh(self) -> None:
        """In the beginning, and in a forked child, which has none of its parent's threads."""
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="workbell-call")

    # Enqueue

    def request(
        self, job: str | JobFunction[Any, Any], payload: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]
    ) -> Request:
        """Check a request and complete it, without writing anything."""
        self.store.check()
        job_name, queue, text, limits = self.resolve(job, payload)
        now = self.store.clock.now()
        key = None if limits is NO_LIMITS else key_of(limits, text)
        depth = depth_behind(current_run.get())
        if not options and not depth:
            return Request(plain_request(Lane(self.tenant, queue, job_name, None, key), text, now))
        new = make_request(
            job_name,
            text,
            options,
            tenant=self.tenant,
            queue=queue,
            now=now,
            accepted_by=process_name(),
            lane_key=key,
            depth=depth,
        )
        return Request(new, options.get("connection"))

    def resolve(self, job: str | JobFunction[Any, Any], payload: dict[str, Any] | None) -> tuple[str, str, str, Limits]:
        """A job's name, its queue, a payload for it as JSON, checked against what is known of the job; its limits."""
        payload = {} if payload is None else payload
        if isinstance(job, JobFunction):
            return job.name, job.queue, job.signature.encode(payload), job.limits
        name("job", job)
        if not isinstance(payload, dict):
            raise InvalidPayload(f"job {job}: the payload must be a dict of arguments, got {type(payload).__name__}.")
        if job in BUILT_IN:
            raise InvalidOption(f"job {job}: Workbell enqueues it itself, for an event; see bell.webhooks.")
        known = self.registry.find(job)
        if known is not None:
            return known.name, known.queue, known.signature.encode(payload), known.limits
        stored = self.store.find_job(self.tenant, job)
        if stored is None:
            names = sorted(known.name for known in self.registry)
            raise UnknownJob(
                f"There is no job {job!r}, here or in the store; "
                + (f"known here: {', '.join(names[:10])}." if names else "declare it with @bell.job.")
            )
        text = encode(f"job {job}: the payload", payload)
        return stored.name, stored.queue or QUEUE, text, stored.limits

    def enqueue_requests(self, requests: Sequence[Request]) -> list[Run]:
        """Write requests in one transaction, or in the callers' own."""
        ours = [request.new for request in requests if request.connection is None]
        written = iter(self.store.add(ours))
        if ours:
            self.nudge()
        added = [
            next(written) if request.connection is None else self.store.add_on(request.connection, [request.new])[0]
            for request in requests
        ]
        return self._answers(requests, added)

    async def aenqueue_requests(self, requests: Sequence[Request]) -> list[Run]:
        """`enqueue_requests` for async code: an async connection is used on the event loop it belongs to."""
        ours = [request.new for request in requests if request.connection is None]
        written = iter(await self.hop(self.store.add, ours))
        if ours:
            self.nudge()
        added = [
            next(written)
            if request.connection is None
            else (await self.store.aadd_on(request.connection, [request.new]))[0]
            for request in requests
        ]
        if all(answer.created for answer in added):
            return [request.new.run for request in requests]
        return await self.hop(self._answers, requests, added)

    def _answers(self, requests: Sequence[Request], added: Sequence[Added]) -> list[Run]:
        """The runs that stand for the requests; those of duplicates are read."""
        return [
            request.new.run if answer.created else self._holder(request.new.run, answer.run_id)
            for request, answer in zip(requests, added, strict=True)
        ]

    def _holder(self, run: Run, run_id: str) -> Run:
        # In a caller's transaction the holder may not be visible to us yet; its id is what counts.
        held = msgspec.structs.replace(run, id=run_id)
        return self.store.find_runs([run_id]).get(run_id, held)

    def enqueue(self, job: str, payload: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> Run:
        """Have a job run by a worker, by its name: `bell.enqueue("send", {"to": "a@b.c"}, delay=60)`."""
        return self.enqueue_requests([self.request(job, payload, **options)])[0]

    async def aenqueue(self, job: str, payload: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> Run:
        request = await self.hop(lambda: self.request(job, payload, **options))
        return (await self.aenqueue_requests([request]))[0]

    def enqueue_many(self, requests: Iterable[Request | tuple[str, dict[str, Any]]]) -> list[Run]:
        """Enqueue many runs in one transaction: `bell.enqueue_many(send.request(to=a) for a in addresses)`."""
        return self.enqueue_requests([self._as_request(request) for request in requests])

    async def aenqueue_many(self, requests: Iterable[Request | tuple[str, dict[str, Any]]]) -> list[Run]:
        listed = await self.hop(lambda: [self._as_request(request) for request in requests])
        return await self.aenqueue_requests(listed)

    def _as_request(self, request: Request | tuple[str, dict[str, Any]]) -> Request:
        return request if isinstance(request, Request) else self.request(*request)

    # Look

    def get(self, run_id: str) -> Run:
        """A run by its id."""
        found = self._find(run_id)
        if found is None:
            raise RunNotFound(f"There is no run {run_id!r} of tenant {self.tenant}; it may have been removed.")
        return found

    async def aget(self, run_id: str) -> Run:
        return await self.hop(self.get, run_id)

    def _find(self, run_id: str) -> Run | None:
        if not is_id(run_id):
            return None
        self.store.check()
        run = self.store.find_runs([run_id]).get(run_id)
        return run if run is not None and run.tenant == self.tenant else None

    def runs(
        self,
        *,
        status: str | Sequence[str] = (),
        job: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        schedule: str | None = None,
        user_id: int | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Runs by filter, newest first; `before` is the id of the last run of the page before."""
        if not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
        try:
            statuses = [Status(word) for word in ([status] if isinstance(status, str) else status)]
        except ValueError as error:
            raise InvalidOption(f"status: {error}; the statuses are {', '.join(Status)}.") from None
        self.store.check()
        if schedule is not None and not is_id(schedule):
            schedule = self.schedules.get(schedule).id
        return self.store.list_runs(Filter(self.tenant, statuses, job, queue, tag, schedule, user_id, before, limit))

    async def aruns(
        self,
        *,
        status: str | Sequence[str] = (),
        job: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        schedule: str | None = None,
        user_id: int | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        return await self.hop(
            lambda: self.runs(
                status=status,
                job=job,
                queue=queue,
                tag=tag,
                schedule=schedule,
                user_id=user_id,
                before=before,
                limit=limit,
            )
        )

    def attempts(self, run_id: str) -> list[Attempt]:
        """Every attempt of a run, oldest first: who worked on it, and how it ended."""
        run = self.get(run_id)
        earlier = self.store.list_attempts(run_id)
        last = last_attempt(run)
        return [*earlier, last] if last is not None else earlier

    async def aattempts(self, run_id: str) -> list[Attempt]:
        return await self.hop(self.attempts, run_id)

    def why(self, run_id: str) -> str:
        """Why a run is not running (or how it ended), in a sentence or two."""
        run = self.get(run_id)
        now = self.store.clock.now()
        if run.status is not Status.QUEUED:
            return explain(run, now)
        here = [counts for counts in self.store.counts() if counts.lane == run.lane]
        workers = None if run.target is not None else capability(self.store.list_workers(), run.queue, run.job, now)
        return explain(
            run,
            now,
            ahead=self.store.ahead_of(run),
            running=sum(counts.running for counts in here),
            pause=next((one for one in self.store.list_pauses(run.tenant) if one.covers(run.lane)), None),
            held=self._held_by(run, now),
            workers=workers,
        )

    def _held_by(self, run: Run, now: datetime) -> list[tuple[Limit, Use]]:
        """The limits of a run's job that leave nothing."""
        known = self.registry.find(run.job)
        stored = self.store.find_job(run.tenant, run.job) if known is None else None
        limits: Sequence[Limit] = ()
        if known is not None:
            limits = known.limits_of(run.lane)
        elif stored is not None:
            limits = limits_on(stored.limits, run.lane)
        uses = self.store.limit_uses(limits)
        return [(limit, uses[limit.id]) for limit in limits if not limit.room(uses[limit.id], now)]

    async def awhy(self, run_id: str) -> str:
        return await self.hop(self.why, run_id)

    # Steer

    def cancel(self, run_id: str, reason: str = CANCELED) -> Run:
        """End a run: at once if it has not started, else its handler is asked to stop."""
        reason = clean_text(reason, 500)
        while True:
            run = self.get(run_id)
            if run.status in PENDING:
                keep = state.kept(run, self.keep).other
                self.telling.look()
                change = self.telling.of(run, state.cancel(run, self.store.clock.now(), reason=reason, keep=keep))
                if self.store.apply([change]):
                    self.moved(run, change)
                    if change.emits:
                        self.store.wake()
                        self.nudge()
                    return change.after(run)
            elif run.status is Status.RUNNING:
                if self.store.request_cancel(run.id, reason):
                    self.store.wake()
                    self.nudge()
                    return self.get(run_id)
            else:
                return run
            # It moved between reading and writing: look again.

    async def acancel(self, run_id: str, reason: str = CANCELED) -> Run:
        return await self.hop(self.cancel, run_id, reason)

    def retry(self, run_id: str) -> Run:
        """Run a finished run's job again, with the same input: a new run, linked by `retry_of`."""
        run = self.get(run_id)
        if not run.status.final:
            raise RunNotFinished(f"run {run_id} is {run.status}; cancel it, or wait until it has ended.")
        new = again(run, self.store.clock.now(), retry_of=run.id)
        return self._retry_matched(run, new) or self.enqueue_requests([Request(new)])[0]

    def _retry_matched(self, run: Run, new: NewRun) -> Run | None:
        """Of a run that an event made, the new one takes its place in the ledger; none, if another has that."""
        trigger = run.options.trigger
        if run.event is None or trigger is None:
            return None
        if run.event not in self.store.find_events([run.event]):
            raise EventNotFound(f"run {run.id}: its event {run.event} was removed, so it cannot be run again; emit it.")
        match = Match(run.event, trigger, MatchOutcome.STARTED, new.run.created_at, new.run.id)
        made = self.store.add_matched([Rematch(new, match, run.id)])
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

    def for_tenant(self, tenant: str) -> Client:
        """The same verbs for another tenant."""
        other = Client(
            self.store,
            self.registry,
            tenant=tenant,
            keep=self.keep,
            waiter=self.waiter,
            timezone=self.timezone,
            event_source=self.event_source,
            subscriptions=self.subscriptions,
        )
        other.nudge = lambda: self.nudge()
        other.telling = self.telling
        other.moved = lambda run, change: self.moved(run, change)
        return other

    async def make_ready(self) -> None:
        """Have the store checked, and its tables made, on a thread: the first time, that would hold up the loop."""
        if not self._ready:
            await self.hop(self.store.check)
            self._ready = True

    async def hop(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call on a thread. It is shielded: a cancelled caller does not tear a write in half."""
        loop = asyncio.get_running_loop()
        here = contextvars.copy_context()  # also there it is known which run's handler this is
        return await asyncio.shield(loop.run_in_executor(self._threads, lambda: here.run(call, *args, **kwargs)))

    def close(self) -> None:
        self.waiter.close()
        self._threads.shutdown(wait=True)


def nothing() -> None:
    """Nobody in this process is to be told."""


def nobody(_run: Run, _change: Transition) -> None:
    """Nobody in this process listens to it."""
