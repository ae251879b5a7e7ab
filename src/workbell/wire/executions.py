"""Executions: runs that events started, in the words of event jobs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.execution import Execution, ExecutionStatus, Invocation
from workbell.wire.fields import Cursor, Limit, Name
from workbell.wire.operation import ListPage, Operations, Query
from workbell.wire.runs import AttemptsQuery


class ExecutionsQuery(Query, frozen=True, kw_only=True):
    trigger: Annotated[Name | None, Meta(description="The name or id of a trigger.")] = None
    event: Annotated[Annotated[str, Meta(max_length=100)] | None, Meta(description="The id of an event.")] = None
    status: ExecutionStatus | None = None
    before: Cursor | None = None
    limit: Limit = 100


operations = Operations("executions")

list_ = operations.add(
    "list",
    "GET",
    "/executions",
    Scope.READ,
    ListPage[Execution],
    "List what events started, newest first.",
    query=ExecutionsQuery,
    verb="executions.__call__",
)
get = operations.add("get", "GET", "/executions/{execution_id}", Scope.READ, Execution, "Show an execution.")
invocations = operations.add(
    "invocations",
    "GET",
    "/executions/{execution_id}/invocations",
    Scope.READ,
    ListPage[Invocation],
    "List every attempt of an execution, oldest first.",
    query=AttemptsQuery,
)
