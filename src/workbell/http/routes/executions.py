"""Handlers of executions: what events started, in the words of event jobs."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_id, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.execution import Execution, Invocation
from workbell.wire import executions
from workbell.wire.executions import ExecutionsQuery
from workbell.wire.operation import ListPage
from workbell.wire.runs import AttemptsQuery

served = Served()

_number: Callable[[Invocation], int] = attrgetter("attempt_number")


@served(executions.list_)
async def list_(call: ApiCall, query: ExecutionsQuery) -> ListPage[Execution]:
    client = call.client
    wanted: dict[str, Any] = {"trigger": query.trigger, "event": query.event, "status": query.status}
    source = PageSource(lambda cursor, number: client.executions(**wanted, before=cursor, limit=number), by_id)
    page = await client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)


@served(executions.get)
async def get(call: ApiCall, execution_id: str) -> Execution:
    return await call.client.aexecution(execution_id)


@served(executions.invocations)
async def invocations(call: ApiCall, execution_id: str, query: AttemptsQuery) -> ListPage[Invocation]:
    client = call.client
    source = PageSource(
        lambda after, number: client.invocations(execution_id, after=after or 0, limit=number),
        _number,
        largest=WITH_TEXT,
    )
    page = await client.runtime.hop(read_page, source, query.after, query.limit)
    return page.answer(lambda one: str(one.attempt_number))
