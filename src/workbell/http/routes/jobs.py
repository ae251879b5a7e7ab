"""Handlers of jobs: list, show, definitions, pauses and reloads. `If-Match` prevents lost updates."""

from __future__ import annotations

from starlette.responses import Response

from workbell.errors import NotFound
from workbell.http.features.job_list import job_etag, job_shown, page_of_jobs, reloads_of
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.policies.etags import answer_with, check_match
from workbell.model.job import Job
from workbell.model.pause import Pause
from workbell.wire import jobs
from workbell.wire.jobs import JobBody, JobList, JobProblem, JobShown, JobsQuery, ReloadShown, ReloadsQuery
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
async def get(call: ApiCall, name: str) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_find, call, name))


@served(jobs.put)
async def put(call: ApiCall, name: str, body: JobBody) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_put, call, name, body))


def _put(call: ApiCall, name: str, body: JobBody) -> JobShown:
    return _shown(call, call.client.jobs.put(name, expected=_expected(call, name), **body.options()))


@served(jobs.enable)
async def enable(call: ApiCall, name: str) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_switch, call, name, True))


@served(jobs.disable)
async def disable(call: ApiCall, name: str) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_switch, call, name, False))


def _switch(call: ApiCall, name: str, enabled: bool) -> JobShown:
    verb = call.client.jobs.enable if enabled else call.client.jobs.disable
    return _shown(call, verb(name, expected=_expected(call, name)))


@served(jobs.delete)
async def delete(call: ApiCall, name: str) -> None:
    await call.client.runtime.hop(lambda: call.client.jobs.delete(name, expected=_expected(call, name)))


def _expected(call: ApiCall, name: str) -> int | None:
    """The version that the caller's condition means; none without one. The store compares it as it writes."""
    headers = call.request.headers
    if "if-match" not in headers and "if-none-match" not in headers:
        return None
    try:
        known = call.client.jobs.get(name)
    except NotFound:
        check_match(call.request, None)
        return 0
    check_match(call.request, job_etag(_shown(call, known)))
    return known.version


@served(jobs.pause)
async def pause(call: ApiCall, name: str) -> Pause:
    await call.client.runtime.hop(_check, call, name)
    return await call.client.apause(job=name)


@served(jobs.resume)
async def resume(call: ApiCall, name: str) -> Resumed:
    await call.client.runtime.hop(_check, call, name)
    return Resumed(ended=await call.client.aresume(job=name))


def _check(call: ApiCall, name: str) -> None:
    """Raise if there is no such job, or the caller means another version of it."""
    check_match(call.request, job_etag(_find(call, name)))


def _find(call: ApiCall, name: str) -> JobShown:
    return _shown(call, call.client.jobs.get(name))


def _shown(call: ApiCall, job: Job) -> JobShown:
    return job_shown(call.client, call.service.jobs, call.service.client.tenant, job)


def _with_etag(call: ApiCall, shown: JobShown) -> Response:
    return answer_with(call.request, shown, job_etag(shown))
