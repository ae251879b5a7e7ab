"""Handlers of jobs: list, show, definitions, pauses and reloads. `If-Match` prevents lost updates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from workbell.errors import NotFound
from workbell.http.features.job_list import job_etag, job_shown, page_of_jobs, reloads_of
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.versions import Precondition, Versioned
from workbell.model.job import API_SOURCE, Job
from workbell.model.pause import Pause
from workbell.wire import jobs
from workbell.wire.jobs import JobBody, JobChange, JobList, JobProblem, JobShown, JobsQuery, ReloadShown, ReloadsQuery
from workbell.wire.operation import Items
from workbell.wire.pauses import Resumed

served = Served()


@served(jobs.list_)
async def list_(call: ApiCall, query: JobsQuery) -> JobList:
    service = call.service
    page = await call.client.runtime.hop(
        page_of_jobs, call.client, service.jobs, service.client.tenant, query.after, query.limit
    )
    found = page.answer(lambda job: job.name)
    problems = service.jobs.problems if call.is_operator else []
    return JobList(
        items=found.items, next=found.next, problems=[JobProblem(**problem._asdict()) for problem in problems]
    )


@served(jobs.reloads)
async def reloads(call: ApiCall, query: ReloadsQuery) -> Items[ReloadShown]:
    return Items(items=reloads_of(call.client, call.service.jobs, call.service.client.tenant, query.limit))


@served(jobs.get)
async def get(call: ApiCall, name: str) -> Versioned[JobShown]:
    return _versioned(await call.client.runtime.hop(_find, call, name))


@served(jobs.put)
async def put(call: ApiCall, name: str, body: JobBody, condition: Precondition) -> Versioned[JobShown]:
    settings = {word: value for word, value in call.owned(body).options().items() if value is not None}
    return await _write(call, name, condition, partial(call.client.jobs.put, **settings))


@served(jobs.change)
async def change(call: ApiCall, name: str, body: JobChange, condition: Precondition) -> Versioned[JobShown]:
    return await _write(call, name, condition, partial(call.client.jobs.update, **body.options()))


@served(jobs.enable)
async def enable(call: ApiCall, name: str, condition: Precondition) -> Versioned[JobShown]:
    return await _write(call, name, condition, call.client.jobs.enable)


@served(jobs.disable)
async def disable(call: ApiCall, name: str, condition: Precondition) -> Versioned[JobShown]:
    return await _write(call, name, condition, call.client.jobs.disable)


async def _write(call: ApiCall, name: str, condition: Precondition, verb: Callable[..., Job]) -> Versioned[JobShown]:
    """The job after a verb that wrote it, in the version that the condition asks for."""

    def write() -> JobShown:
        return _shown(call, verb(name, expected=_expected(call, name, condition)))

    return _versioned(await call.client.runtime.hop(write))


@served(jobs.delete)
async def delete(call: ApiCall, name: str, condition: Precondition) -> None:
    await call.client.runtime.hop(lambda: call.client.jobs.delete(name, expected=_expected(call, name, condition)))


def _expected(call: ApiCall, name: str, condition: Precondition) -> int | None:
    """The version that the caller's condition means; none without one. The store compares it as it writes."""
    if condition.is_empty:
        return None
    known: JobShown | None
    try:
        known = _find(call, name)
    except NotFound:
        known = None
    condition.check(
        None if known is None else job_etag(known),
        id=None if known is None else known.id,
        name=name,
        tenant=call.client.tenant,
        source=API_SOURCE,
        paused=known is not None and known.paused,
    )
    return condition.expected(0 if known is None else known.version)


@served(jobs.pause)
async def pause(call: ApiCall, name: str, condition: Precondition) -> Pause:
    await call.client.runtime.hop(_check, call, name, condition)
    return await call.client.apause(job=name)


@served(jobs.resume)
async def resume(call: ApiCall, name: str, condition: Precondition) -> Resumed:
    await call.client.runtime.hop(_check, call, name, condition)
    return Resumed(ended=await call.client.aresume(job=name))


def _check(call: ApiCall, name: str, condition: Precondition) -> None:
    """Raise if there is no such job, or the caller means another version of it."""
    condition.check(job_etag(_find(call, name)))


def _find(call: ApiCall, name: str) -> JobShown:
    return _shown(call, call.client.jobs.get(name))


def _shown(call: ApiCall, job: Job) -> JobShown:
    return job_shown(call.client, call.service.jobs, call.service.client.tenant, job)


def _versioned(shown: JobShown) -> Versioned[JobShown]:
    return Versioned(shown, job_etag(shown))
