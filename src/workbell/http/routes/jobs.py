"""Handlers of jobs: list, show, definitions, pauses and reloads. `If-Match` prevents lost updates."""

from __future__ import annotations

from starlette.responses import Response

from workbell.errors import NotFound
from workbell.http.features.job_list import job_etag, job_shown, page_of_jobs, reloads_of
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.parsing import check_read_only
from workbell.http.policies.etags import answer_with, check_match
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
async def get(call: ApiCall, name: str) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_find, call, name))


@served(jobs.put)
async def put(call: ApiCall, name: str, body: JobBody) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_put, call, name, body))


def _put(call: ApiCall, name: str, body: JobBody) -> JobShown:
    settings = {word: value for word, value in call.owned(body).options().items() if value is not None}
    return _shown(call, call.client.jobs.put(name, expected=_expected(call, name), **settings))


@served(jobs.change)
async def change(call: ApiCall, name: str, body: JobChange) -> Response:
    return _with_etag(call, await call.client.runtime.hop(_change, call, name, body))


def _change(call: ApiCall, name: str, body: JobChange) -> JobShown:
    return _shown(call, call.client.jobs.update(name, expected=_expected(call, name), **body.options()))


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
    is_guarded = "if-match" in headers or "if-none-match" in headers
    if not is_guarded and not call.read_only:
        return None
    known: JobShown | None
    try:
        known = _find(call, name)
    except NotFound:
        known = None
    check_match(call.request, None if known is None else job_etag(known))
    check_read_only(
        call.read_only,
        id=None if known is None else known.id,
        name=name,
        tenant=call.client.tenant,
        source=API_SOURCE,
        paused=known is not None and known.paused,
    )
    if not is_guarded:
        return None
    return 0 if known is None else known.version


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
