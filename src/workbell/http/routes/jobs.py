"""Jobs: which there are, how each is called, definitions, and pausing one. `If-Match` prevents lost updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import NotFound
from workbell.http.answers import JsonResponse, nothing
from workbell.http.call import ApiCall, call_of
from workbell.http.etags import IF_MATCH, NOT_MODIFIED, answer_with, check_match
from workbell.http.job_list import job_etag, job_shown, jobs_of, reloads_of
from workbell.http.routing import Routes
from workbell.http.schemas.jobs import JobBody, JobList, JobShown, PauseShown, ReloadsShown, Resumed
from workbell.model.access import Scope
from workbell.model.job import Job
from workbell.model.retry import Retry

routes = Routes("jobs")


@routes.add("GET", "/jobs", needs=Scope.READ, answers=JobList)
async def list(request: Request) -> Response:  # noqa: A001
    """List the jobs, and what is wrong with job files.

    Problems of files are shown to those who may see the tenant of the program, whose files they are: an error may quote
    what a file has loaded.
    """
    call = call_of(request)
    wrong = call.service.jobs.problems if call.is_operator else []
    problems = [{"path": one.path, "line": one.line, "message": one.message} for one in wrong]
    return JsonResponse({"items": await call.client.runtime.hop(_jobs, call), "problems": problems})


@routes.add("GET", "/reloads", needs=Scope.READ, answers=ReloadsShown)
async def reloads(request: Request, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Response:
    """List the reloads of job files since the server started, newest first.

    Of the tenant of the program, whose files they are. A broken file keeps its last good version; a server that does
    not watch files (`workbell start` without `--watch`) has only what was wrong when it started.
    """
    call = call_of(request)
    return JsonResponse({"items": reloads_of(call.client, call.service.jobs, call.service.client.tenant, limit)})


@routes.add("GET", "/jobs/{name}", needs=Scope.READ, answers=JobShown, more=NOT_MODIFIED)
async def get(request: Request, name: str) -> Response:
    """Show a job."""
    found = await call_of(request).client.runtime.hop(_find, call_of(request), name)
    return answer_with(request, found, job_etag(found))


@routes.add("PUT", "/jobs/{name}", needs=Scope.OPERATE, answers=JobShown, parameters=[IF_MATCH])
async def put(request: Request, name: str, asked: JobBody) -> Response:
    """Make or replace a definition: put again with the same settings, nothing changes.

    With `If-Match` only if it is still as it was read; with `If-None-Match: *` only if there is none. A job that code
    declares is changed there.
    """
    call = call_of(request)
    found = await call.client.runtime.hop(_put, call, name, asked)
    return answer_with(request, found, job_etag(found))


def _put(call: ApiCall, name: str, asked: JobBody) -> dict[str, Any]:
    given: Any = {word: value for word in asked.model_fields_set if (value := getattr(asked, word)) is not None}
    if asked.retry is not None:
        given["retry"] = Retry(**asked.retry.model_dump())
    return _as_shown(call, call.client.jobs.put(name, expected=_expected(call, name), **given))


@routes.add("POST", "/jobs/{name}/enable", needs=Scope.OPERATE, answers=JobShown, parameters=[IF_MATCH])
async def enable(request: Request, name: str) -> Response:
    """Let a definition take runs again; those that wait go on."""
    return await _switch(request, name, True)


@routes.add("POST", "/jobs/{name}/disable", needs=Scope.OPERATE, answers=JobShown, parameters=[IF_MATCH])
async def disable(request: Request, name: str) -> Response:
    """Take no new runs of a definition; those that wait go on waiting, and what is running ends."""
    return await _switch(request, name, False)


async def _switch(request: Request, name: str, enabled: bool) -> Response:
    call = call_of(request)

    def switch() -> dict[str, Any]:
        verb = call.client.jobs.enable if enabled else call.client.jobs.disable
        return _as_shown(call, verb(name, expected=_expected(call, name)))

    found = await call.client.runtime.hop(switch)
    return answer_with(request, found, job_etag(found))


@routes.add("DELETE", "/jobs/{name}", needs=Scope.OPERATE, status=204, parameters=[IF_MATCH])
async def delete(request: Request, name: str) -> Response:
    """Remove a definition; its runs stay, and those that wait go on waiting until it is put again.

    Refused while a schedule or a trigger names it.
    """
    call = call_of(request)
    await call.client.runtime.hop(lambda: call.client.jobs.delete(name, expected=_expected(call, name)))
    return nothing()


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
    check_match(call.request, job_etag(_as_shown(call, known)))
    return known.version


@routes.add("POST", "/jobs/{name}/pause", needs=Scope.OPERATE, answers=PauseShown, parameters=[IF_MATCH])
async def pause(request: Request, name: str) -> Response:
    """Start no more runs of a job until it is resumed."""
    call = call_of(request)
    check_match(request, job_etag(await call.client.runtime.hop(_find, call, name)))
    return JsonResponse(await call.client.apause(job=name))


@routes.add("POST", "/jobs/{name}/resume", needs=Scope.OPERATE, answers=Resumed, parameters=[IF_MATCH])
async def resume(request: Request, name: str) -> Response:
    """End the pause of a job."""
    call = call_of(request)
    check_match(request, job_etag(await call.client.runtime.hop(_find, call, name)))
    return JsonResponse({"ended": await call.client.aresume(job=name)})


def _find(call: ApiCall, name: str) -> dict[str, Any]:
    return _as_shown(call, call.client.jobs.get(name))


def _as_shown(call: ApiCall, job: Job) -> dict[str, Any]:
    return job_shown(call.client, call.service.jobs, call.service.client.tenant, job)


def _jobs(call: ApiCall) -> Sequence[dict[str, Any]]:
    return jobs_of(call.client, call.service.jobs, call.service.client.tenant)
