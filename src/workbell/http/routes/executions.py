"""Executions: what events started, in the words of event jobs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.http.answers import JsonResponse
from workbell.http.bounded_pages import PageSource, by_id, read_page
from workbell.http.call import call_of
from workbell.http.routing import Routes
from workbell.http.schemas.base import Limit, ListPage, Name
from workbell.http.schemas.executions import ExecutionShown, Invocations
from workbell.model.access import Scope
from workbell.model.execution import Execution, ExecutionStatus

routes = Routes("executions")


@routes.add("GET", "/executions", needs=Scope.READ, answers=ListPage[ExecutionShown])
async def list(  # noqa: A001
    request: Request,
    trigger: Annotated[Name | None, Query(description="The name or id of a trigger.")] = None,
    event: Annotated[str | None, Query(max_length=100, description="The id of an event.")] = None,
    status: Annotated[ExecutionStatus | None, Query()] = None,
    before: Annotated[str | None, Query(description="The cursor: `next` of the page before.", max_length=100)] = None,
    limit: Limit = 100,
) -> Response:
    """List what events started, newest first."""
    client = call_of(request).client
    wanted: dict[str, Any] = {"trigger": trigger, "event": event, "status": status}
    source = PageSource(
        lambda cursor, number: client.executions(**wanted, before=cursor, limit=number), by_id, Execution.as_dict
    )
    page = await client.runtime.hop(read_page, source, before, limit)
    return JsonResponse(page.answer(by_id))


@routes.add("GET", "/executions/{execution_id}", needs=Scope.READ, answers=ExecutionShown)
async def get(request: Request, execution_id: str) -> Response:
    """Show an execution."""
    return JsonResponse((await call_of(request).client.aexecution(execution_id)).as_dict())


@routes.add("GET", "/executions/{execution_id}/invocations", needs=Scope.READ, answers=Invocations)
async def invocations(request: Request, execution_id: str) -> Response:
    """List every attempt of an execution, oldest first."""
    found = await call_of(request).client.ainvocations(execution_id)
    return JsonResponse({"items": [one.as_dict() for one in found]})
