"""Enqueuing: checks requests for runs, and writes them. Sync, and async with an `a`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Unpack

import msgspec

from workbell.errors import InvalidInput, InvalidOption, JobDisabled, UnreadableRow
from workbell.handlers.current_run import current_run, depth_behind, traced
from workbell.handlers.job_function import JobFunction
from workbell.model.job import BUILT_IN, TENANT, UNKNOWN, Job, RunTerms, job_disabled, name, refused, unknown_job
from workbell.model.json_text import encode
from workbell.model.limit import NO_LIMITS, limit_key
from workbell.model.merge_patch import merge_input
from workbell.model.request import EnqueueOptions, Request, check_names, make_request, plain_request
from workbell.model.run import Added, Lane, NewRun, OnDuplicate, Run
from workbell.model.run_defaults import NO_DEFAULTS
from workbell.runs.after_commit import Work, register
from workbell.runs.runtime import Runtime
from workbell.stores.measuring import has_old_time, measure_old_time


class Resolved(NamedTuple):
    """A job, and the input of a run of it."""

    job: str
    input_text: str
    terms: RunTerms
    given_text: str  # without the input template of the job


class Enqueuing:
    """Makes runs of jobs, by function or by name, for one tenant."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def request(
        self, job: str | JobFunction[Any, Any], input: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]
    ) -> Request:
        """Check a request and complete it, without writing anything."""
        runtime = self._runtime
        store = runtime.store
        if not options and current_run.get() is None:
            known = job if isinstance(job, JobFunction) else self._named(job, input)
            if known is not None and known.limits is NO_LIMITS and known.defaults is NO_DEFAULTS:
                # The usual case; the rest of this would take as long again.
                text = known.signature.encode({} if input is None else input)
                return Request(plain_request(Lane(runtime.tenant, known.queue, known.name), text, store.clock.now()))
        if options.get("connection") is not None:
            store.check(joining=True)  # else the database does, before its first batch
        if options:
            check_names(options)  # before the input: an argument that was given as an option is missing there
        job_name, text, terms, _ = resolve(
            runtime, job, input, options.get("target"), options.get("tenant", runtime.tenant)
        )
        if terms.refusal == job_disabled(job_name):
            raise JobDisabled(
                f"job {job_name}: it is disabled, and takes no new runs; enable it with "
                f"bell.jobs.enable({job_name!r}) or `workbell jobs enable {job_name}`."
            )
        if terms.refusal is not None:
            raise UnreadableRow(terms.refusal)
        now = store.clock.now()
        key = None if terms.limits is NO_LIMITS else limit_key(terms.limits, text)
        parent = current_run.get()
        depth = 0 if parent is None else depth_behind(parent)
        defaults = terms.defaults
        replaces = options.get("replace_tag", defaults.replace_tag)
        if replaces or options.get("on_duplicate") == OnDuplicate.REPLACE:
            runtime.publisher.poll()  # whether anybody subscribes to the cancels of the runs that are replaced
        if not options and not depth and defaults is NO_DEFAULTS:
            return Request(plain_request(Lane(runtime.tenant, terms.queue, job_name, None, key), text, now))
        if has_old_time(store):
            runtime.in_background(lambda: measure_old_time(store))  # read for the next one, without waiting
        new = make_request(
            job_name,
            text,
            options,
            tenant=runtime.tenant,
            queue=terms.queue,
            now=now,
            maker=runtime.maker,
            defaults=defaults,
            lane_key=key,
            depth=depth,
        )
        return Request(new, options.get("connection"))

    def _named(self, job: str, input: dict[str, Any] | None) -> JobFunction[Any, Any] | None:
        """A job of the code here, by its name; none where `resolve` has to say what is wrong."""
        if not isinstance(job, str) or job in BUILT_IN or not (input is None or isinstance(input, dict)):
            return None
        return self._runtime.registry.find(job)

    def write(self, requests: Sequence[Request]) -> list[Run]:
        """Write requests in one transaction, or in the caller's own: all of them, or none and the error."""
        connection, new = _unpacked(requests)
        if connection is None:
            added, is_announced = self._add(new)
            if not is_announced:
                self._runtime.hooks.wake()
        else:
            added = self._runtime.store.runs.add_on(connection, new)
        if self._runtime.hooks.read_back is None and all(answer.created for answer in added):
            return [one.run for one in new]
        return self._answers(new, added)

    async def awrite(self, requests: Sequence[Request]) -> list[Run]:
        """`write` for async code: an async connection is used on the event loop it belongs to."""
        connection, new = _unpacked(requests)
        runtime = self._runtime
        if connection is None:
            may_wait = any(one.run.key_text is not None or one.replace_tag for one in new)
            added, is_announced = await (runtime.hop_apart if may_wait else runtime.hop)(self._add, new)
            if not is_announced:
                runtime.hooks.wake()
        else:
            added = await runtime.store.runs.aadd_on(connection, new)
        if runtime.hooks.read_back is None and all(answer.created for answer in added):
            return [one.run for one in new]
        return await runtime.hop(self._answers, new, added)

    def _add(self, new: Sequence[NewRun]) -> tuple[list[Added], bool]:
        """Make runs; whether they need no hint to the engine here, because a queue wakes a worker."""
        store, announce = self._runtime.store, self._runtime.hooks.announce
        if announce is None:
            return store.runs.add(new), not new
        added = store.runs.add(new, hint=False)
        is_announced = announce(one.run for one, answer in zip(new, added, strict=True) if answer.created)
        if not is_announced:
            store.wake()
        return added, is_announced

    def _answers(self, new: Sequence[NewRun], added: Sequence[Added]) -> list[Run]:
        """The runs that stand for the requests; those of duplicates are read."""
        runs = [
            one.run if answer.created else self._holder(one.run, answer.id)
            for one, answer in zip(new, added, strict=True)
        ]
        read_back = self._runtime.hooks.read_back
        return runs if read_back is None else read_back(runs)

    def _holder(self, run: Run, run_id: str) -> Run:
        # In a caller's transaction the holder may not be visible to us yet; its id is what counts.
        unseen = msgspec.structs.replace(run, id=run_id)
        return self._runtime.store.runs.find([run_id]).get(run_id, unseen)

    def enqueue(self, job: str, input: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> Run:
        """Have a job run by a worker, by its name: `bell.enqueue("send", {"to": "a@b.c"}, delay=60)`."""
        return self.write([self.request(job, input, **options)])[0]

    async def aenqueue(self, job: str, input: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> Run:
        request = await self._runtime.hop(lambda: self.request(job, input, **options))
        return (await self.awrite([request]))[0]

    def enqueue_many(self, requests: Iterable[Request | tuple[str, dict[str, Any]]]) -> list[Run]:
        """Enqueue many runs in one transaction: `bell.enqueue_many(send.request(to=a) for a in addresses)`."""
        return self.write([self._as_request(request) for request in requests])

    async def aenqueue_many(self, requests: Iterable[Request | tuple[str, dict[str, Any]]]) -> list[Run]:
        listed = await self._runtime.hop(lambda: [self._as_request(request) for request in requests])
        return await self.awrite(listed)

    def after_commit(self, transaction: Any, work: Request | Callable[[], object]) -> None:
        """Enqueue after the commit of a transaction in another database: `bell.after_commit(session, send.request(…))`.

        `transaction` is a SQLAlchemy Session or AsyncSession, or a Django connection; `work` a request, or a function
        that is called. A rollback drops it, also one to a savepoint before it. If the process dies between the commit
        and the enqueue, the run is lost: where both are in one database, use `connection=`. An error of the work is
        logged, and does not come out of the commit.
        """
        register(transaction, self._work(work))

    def _work(self, work: Request | Callable[[], object]) -> Work:
        if isinstance(work, Request):
            if work.connection is not None:
                raise InvalidOption(
                    "after_commit: the request names a connection, in whose transaction it would be; leave out "
                    "connection=, or enqueue it now."
                )
            job = work.new.run.job
            return Work(f"enqueuing a run of job {job}", lambda: self.write([work]), lambda: self.awrite([work]))
        if isinstance(work, JobFunction):
            raise InvalidOption(f"after_commit: job {work.name} has no arguments yet; hand in {work.name}.request(…).")
        if not callable(work):
            raise InvalidOption(
                f"after_commit: expected a request, as of send.request(…), or a function, got {type(work).__name__}."
            )
        return Work(getattr(work, "__qualname__", repr(work)), work)

    def _as_request(self, request: Request | tuple[str, dict[str, Any]]) -> Request:
        return request if isinstance(request, Request) else self.request(*request)


def resolve(
    runtime: Runtime,
    job: str | JobFunction[Any, Any],
    input: dict[str, Any] | None,
    target: str | None = None,
    tenant: str | None = None,
) -> Resolved:
    """Find a job, here or in the store, and encode an input for it as JSON, checked against its signature.

    Of a definition, the input is merged onto its template first. With a target, or where a living
    worker has it, it may be one that nobody here knows.
    """
    input = {} if input is None else input
    if isinstance(job, JobFunction):
        text = job.signature.encode(input)
        return Resolved(job.name, text, job.terms, text)
    name("job", job)
    if not isinstance(input, dict):
        raise InvalidInput(f"job {job}: the input must be a dict of arguments, got {type(input).__name__}.")
    if job in BUILT_IN:
        raise refused(job)
    known = runtime.registry.find(job)
    if known is not None:
        text = known.signature.encode(input)
        return Resolved(known.name, text, known.terms, text)
    tenant = runtime.tenant if tenant is None else tenant
    stored = runtime.definitions.cached(tenant, job) or runtime.store.jobs.find(tenant, job)
    if stored is not None and stored.is_definition:
        return _resolve_definition(runtime, stored, input)
    if stored is None and target is None:
        stored = _served(runtime, tenant, job)
    text = encode(f"job {job}: the input", input)
    return Resolved(job, text, UNKNOWN if stored is None else stored.terms, text)


def _served(runtime: Runtime, tenant: str, job: str) -> Job | None:
    """A job that a living worker has, as code declares it; None, if that is known to the worker alone, as it may be of
    one in another language. Raises UnknownJob if no worker has it."""
    store = runtime.store
    now = store.clock.now()
    if not any(job in worker.jobs and worker.is_alive(now) for worker in store.workers.list()):
        stored = (one.name for one in store.jobs.list(tenant))
        raise unknown_job(job, {*stored, *(one.name for one in runtime.registry)})
    code = store.jobs.find(TENANT, job)  # code is for all tenants, and is stored for that of its program
    return None if code is None or code.is_definition else code


def _resolve_definition(runtime: Runtime, job: Job, input: dict[str, Any]) -> Resolved:
    """The input is checked where the handler is known; its size, everywhere."""
    given = encode(f"job {job.name}: the input", input)
    code = runtime.registry.find_for(job.tenant, job.name)
    if code is None and (declared := runtime.registry.find(job.handler)) is not None:  # it is disabled, or new
        code = declared.defined_as(job)
    if code is None:
        text = merge_input(job.name, job.input_text, given) or given
    else:
        text = code.signature.encode_onto(job.input, input)
    return Resolved(job.name, text, job.terms, given)


def _unpacked(requests: Sequence[Request]) -> tuple[Any, list[NewRun]]:
    """The caller's connection that all requests name, if they do; and their runs, which carry the run whose handler
    makes them, if one does."""
    first = requests[0].connection if requests else None
    if len(requests) > 1 and any(request.connection is not first for request in requests):
        raise InvalidOption(
            "enqueue_many: some of its requests name a connection, and others another one or none; the runs of one "
            "call are made in one transaction; give all of them the same connection=, or make a call for each."
        )
    new = [request.new for request in requests]
    return first, new if current_run.get() is None else [traced(one) for one in new]
