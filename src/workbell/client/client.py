"""The verbs of Workbell for one tenant: enqueueing here, the others in rooms of their own. Sync, and async with an `a`.

Every verb is written once and plainly; the async one is the same call on a thread of the store's.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, ParamSpec, TypeVar, Unpack

import msgspec

from workbell.access.audit import Audit
from workbell.access.tenants import Tenants
from workbell.access.tokens import Tokens
from workbell.access.verified import Verified
from workbell.bulk.verbs import Bulk
from workbell.claims.pauses import Pausing
from workbell.errors import InvalidOption, InvalidPayload, UnknownJob
from workbell.events.alerting import Alerting
from workbell.events.emitting import Emitting, source_of
from workbell.events.executions import Executing
from workbell.events.publishing import EventPublishing
from workbell.events.subscriptions import Subscriptions
from workbell.events.triggers import Triggers
from workbell.events.verbs import Events
from workbell.handlers.current_run import current_run, depth_behind, traced
from workbell.handlers.job_function import JobFunction
from workbell.handlers.registry import Registry
from workbell.model.access import EVERY_TENANT
from workbell.model.job import BUILT_IN, TENANT, UNKNOWN, RunTerms, name, refused
from workbell.model.limit import NO_LIMITS, key_of
from workbell.model.payload import encode
from workbell.model.request import EnqueueOptions, Request, make_request, plain_request
from workbell.model.run import Added, Lane, NewRun, OnDuplicate, Run
from workbell.model.run_defaults import NO_DEFAULTS, RESCHEDULES, Maker
from workbell.model.state import Retention
from workbell.notices.notifications import Notifications, Notifying, unposted
from workbell.notices.push_message import Message
from workbell.process.identity import process_name, program_name
from workbell.process.verb_threads import Threads
from workbell.runs.booking import Booking
from workbell.runs.following import Watching
from workbell.runs.waiter import Waiter
from workbell.scheduling.schedules import Schedules
from workbell.stores.measuring import has_old_time, measure_old_time
from workbell.stores.port import Store
from workbell.webhooks.verbs import Webhooks

T = TypeVar("T")
P = ParamSpec("P")


class Resolved(NamedTuple):
    """A job, and the input of a run of it."""

    job: str
    input_text: str
    terms: RunTerms


class Client(Bulk, Watching, Pausing, Emitting, Executing, Notifying):
    """What an application does with jobs and runs. `Workbell` is one, for its own tenant."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        tenant: str = TENANT,
        keep: Retention,
        waiter: Waiter | None = None,
        timezone: str | None = None,
        event_source: str | None = None,
        subscriptions: Subscriptions | None = None,
        verified: Verified | None = None,
        threads: Threads | None = None,
        booking: Booking | None = None,
        reschedules: int = RESCHEDULES,
    ) -> None:
        self.store = store
        self.registry = registry
        self.tenant = name("tenant", tenant)
        if tenant == EVERY_TENANT:
            raise InvalidOption("tenant: `*` stands for all tenants, and none can be called so; choose another name.")
        self.keep = keep
        self.reschedules = reschedules  # how long a chain of `auto_reschedule` gets
        self.nudge: Callable[[], None] = nothing
        self.announce: Callable[[Iterable[Run]], None] | None = None  # to a queue beside the store, if there is one
        self._ready = False
        self._threads = threads or Threads()
        self.waiter = waiter or Waiter(store)
        self.timezone = timezone
        self.event_source = event_source or source_of(program_name())
        self.subscriptions = subscriptions or Subscriptions(lambda: self.store)
        self.telling = EventPublishing(self.subscriptions, Alerting(lambda: self.store, registry, self.tenant))
        self.booking = booking or Booking(lambda: self.store, self.telling, keep)
        store.publisher = self.booking
        self.post: Callable[[Message], None] = unposted
        self.schedules = Schedules(self)
        self.triggers = Triggers(self)
        self.events = Events(self)
        self.webhooks = Webhooks(self)
        self.tokens = Tokens(self)
        self.tenants = Tenants(self)
        self.audit = Audit(self)
        self.verified = verified or Verified(self)
        self.notifications = Notifications(self)

    # Enqueue

    def request(
        self, job: str | JobFunction[Any, Any], payload: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]
    ) -> Request:
        """Check a request and complete it, without writing anything."""
        self.store.check(joining=options.get("connection") is not None)
        job_name, text, terms = self.resolve(job, payload, options.get("target"))
        now = self.store.clock.now()
        key = None if terms.limits is NO_LIMITS else key_of(terms.limits, text)
        depth = depth_behind(current_run.get())
        defaults = terms.defaults
        replaces = options.get("replace_tag", defaults.replace_tag)
        if replaces or options.get("on_duplicate") == OnDuplicate.REPLACE:
            self.telling.look()  # whether anybody hears of the runs that are replaced
        if not options and not depth and defaults is NO_DEFAULTS:
            return Request(plain_request(Lane(self.tenant, terms.queue, job_name, None, key), text, now))
        if has_old_time(self.store):
            self.by_and_by(lambda: measure_old_time(self.store))  # for the next one: nobody waits for that
        new = make_request(
            job_name,
            text,
            options,
            tenant=self.tenant,
            queue=terms.queue,
            now=now,
            maker=self.maker,
            defaults=defaults,
            lane_key=key,
            depth=depth,
        )
        return Request(new, options.get("connection"))

    @property
    def maker(self) -> Maker:
        """This process, as the maker of runs."""
        return Maker(process_name(), self.reschedules)

    def resolve(
        self, job: str | JobFunction[Any, Any], payload: dict[str, Any] | None, target: str | None = None
    ) -> Resolved:
        """What is known of a job, here or in the store, and a payload for it as JSON, checked against that.

        With a target it may be one that nobody here knows: the agent does.
        """
        payload = {} if payload is None else payload
        if isinstance(job, JobFunction):
            return Resolved(job.name, job.signature.encode(payload), job.terms)
        name("job", job)
        if not isinstance(payload, dict):
            raise InvalidPayload(f"job {job}: the payload must be a dict of arguments, got {type(payload).__name__}.")
        if job in BUILT_IN:
            raise refused(job)
        known = self.registry.find(job)
        if known is not None:
            return Resolved(known.name, known.signature.encode(payload), known.terms)
        stored = self.store.jobs.find(self.tenant, job)
        if stored is None and target is not None:
            return Resolved(job, encode(f"job {job}: the payload", payload), UNKNOWN)
        if stored is None:
            names = sorted(known.name for known in self.registry)
            raise UnknownJob(
                f"There is no job {job!r}, here or in the store; "
                + (f"known here: {', '.join(names[:10])}." if names else "declare it with @bell.job.")
            )
        text = encode(f"job {job}: the payload", payload)
        return Resolved(stored.name, text, stored.terms)

    def enqueue_requests(self, requests: Sequence[Request]) -> list[Run]:
        """Write requests in one transaction, or in the caller's own: all of them, or none and the error."""
        requests = _traced(requests)
        connection, new = _connection_of(requests), [request.new for request in requests]
        if connection is None:
            added = self._add(new)
            if new:
                self.nudge()
        else:
            added = self.store.runs.add_on(connection, new)
        return self._answers(requests, added)

    async def aenqueue_requests(self, requests: Sequence[Request]) -> list[Run]:
        """`enqueue_requests` for async code: an async connection is used on the event loop it belongs to."""
        requests = _traced(requests)
        connection, new = _connection_of(requests), [request.new for request in requests]
        if connection is None:
            may_wait = any(one.run.key_text is not None or one.replace_tag for one in new)
            added = await (self.hop_apart if may_wait else self.hop)(self._add, new)
            if new:
                self.nudge()
        else:
            added = await self.store.runs.aadd_on(connection, new)
        if all(answer.created for answer in added):
            return [request.new.run for request in requests]
        return await self.hop(self._answers, requests, added)

    def _add(self, new: Sequence[NewRun]) -> list[Added]:
        added = self.store.runs.add(new)
        if self.announce is not None:
            self.announce(one.run for one in new)
        return added

    def _answers(self, requests: Sequence[Request], added: Sequence[Added]) -> list[Run]:
        """The runs that stand for the requests; those of duplicates are read."""
        return [
            request.new.run if answer.created else self._holder(request.new.run, answer.id)
            for request, answer in zip(requests, added, strict=True)
        ]

    def _holder(self, run: Run, run_id: str) -> Run:
        # In a caller's transaction the holder may not be visible to us yet; its id is what counts.
        held = msgspec.structs.replace(run, id=run_id)
        return self.store.runs.find([run_id]).get(run_id, held)

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
            verified=self.verified,
            threads=self._threads,
            booking=self.booking,
            reschedules=self.reschedules,
        )
        other.nudge = lambda: self.nudge()
        other.announce = self.announce
        other.telling = self.telling
        other.post = lambda message: self.post(message)
        return other

    async def make_ready(self) -> None:
        """Have the store checked, and its tables made, on a thread: the first time, that would hold up the loop."""
        if not self._ready:
            await self.hop(self.store.check)
            self._ready = True

    async def hop(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call on a thread. It is shielded: a cancelled caller does not tear a write in half."""
        return await self._run_on(self._threads.pool, lambda: call(*args, **kwargs))

    async def hop_apart(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a call that may have to wait for a key: on threads that no other call needs."""
        return await self._run_on(self._threads.waiting, lambda: call(*args, **kwargs))

    async def _run_on(self, pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        here = contextvars.copy_context()  # also there it is known which run's handler this is
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(pool, here.run, call))

    def by_and_by(self, call: Callable[[], object]) -> bool:
        """Have a call made on a thread, and nobody wait for it; false, if this is closed."""
        try:
            self._threads.pool.submit(call)
        except RuntimeError:
            return False
        return True

    def close(self) -> None:
        self.waiter.close()
        self._threads.shut_down()


def _traced(requests: Sequence[Request]) -> Sequence[Request]:
    """With the run whose handler makes them, if one does."""
    if current_run.get() is None:
        return requests
    return [request._replace(new=traced(request.new)) for request in requests]


def _connection_of(requests: Sequence[Request]) -> Any:
    """The caller's connection that all requests name; none, if none of them does."""
    first = requests[0].connection if requests else None
    if any(request.connection is not first for request in requests):
        raise InvalidOption(
            "enqueue_many: some of its requests name a connection, and others another one or none; the runs of one "
            "call are made in one transaction; give all of them the same connection=, or make a call for each."
        )
    return first


def nothing() -> None:
    """Nobody in this process is to be told."""
