"""Jobs: which there are, how each is called, and pausing one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import NotFound
from workbell.http.answers import JsonResponse
from workbell.http.call import ApiCall, call_of
from workbell.http.etags import IF_MATCH, NOT_MODIFIED, answer_with, check_match, etag_of
from workbell.http.job_list import jobs_of, reloads_of
from workbell.http.routing import Routes
from workbell.http.schemas.jobs import JobList, JobShown, PauseShown, ReloadsShown, Resumed
from workbell.model.access import Scope

routes = Routes("jobs")


@routes.add("GET", "/jobs", needs=Scope.READ, answers=JobList)
async def list(request: Request) -> Response:  # noqa: A001
    """List the jobs, and what is wrong with job files."""
    call = call_of(request)
    problems = [{"path": one.path, "line": one.line, "message": one.message} for one in call.service.jobs.problems]
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
    return answer_with(request, found, etag_of(found))


@routes.add("POST", "/jobs/{name}/pause", needs=Scope.OPERATE, answers=PauseShown, parameters=[IF_MATCH])
async def pause(request: Request, name: str) -> Response:
    """Start no more runs of a job until it is resumed."""
    call = call_of(request)
    check_match(request, etag_of(await call.client.runtime.hop(_find, call, name)))
    return JsonResponse(await call.client.apause(job=name))


@routes.add("POST", "/jobs/{name}/resume", needs=Scope.OPERATE, answers=Resumed, parameters=[IF_MATCH])
async def resume(request: Request, name: str) -> Response:
    """End the pause of a job."""
    call = call_of(request)
    check_match(request, etag_of(await call.client.runtime.hop(_find, call, name)))
    return JsonResponse({"ended": await call.client.aresume(job=name)})


def _find(call: ApiCall, name: str) -> dict[str, Any]:
    for job in _jobs(call):
        if job["name"] == name:
            return job
    raise NotFound(f"There is no job {name[:40]!r} of tenant {call.tenant}.")


def _jobs(call: ApiCall) -> Sequence[dict[str, Any]]:
    return jobs_of(call.client, call.service.jobs, call.service.client.tenant)
