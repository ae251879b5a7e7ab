"""Handlers of triggers: add, show, change, enable and disable; and of executions, in the words of event jobs.

`If-Match` prevents lost updates of a trigger.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from workbell.events.declared import API_SOURCE
from workbell.events.triggers import TriggerChanges
from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_id, by_name, page_of, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.parsing import check_read_only
from workbell.http.framework.versions import Precondition, Versioned, etag_of
from workbell.model.event_subscribers import Matched
from workbell.model.execution import Execution, Invocation
from workbell.model.trigger import Trigger
from workbell.wire import executions, triggers
from workbell.wire.executions import ExecutionsQuery
from workbell.wire.operation import ListPage
from workbell.wire.runs import AttemptsQuery
from workbell.wire.triggers import NewTrigger, TriggerChange, TriggerMatchesQuery, TriggerShown, TriggersQuery

served = Served()


def trigger_etag(trigger: Trigger) -> str:
    return etag_of([trigger.id, trigger.version])


def _shown(trigger: Trigger) -> Versioned[TriggerShown]:
    return Versioned(TriggerShown.of(trigger), trigger_etag(trigger))


@served(triggers.add)
async def add(call: ApiCall, body: NewTrigger) -> Versioned[TriggerShown]:
    check_read_only(call.read_only, id=None, tenant=call.client.tenant, source=API_SOURCE)
    made = await call.client.triggers.aadd(**call.owned(body).options())
    call.subject = made.id
    return _shown(made)


@served(triggers.list_)
async def list_(call: ApiCall, query: TriggersQuery) -> ListPage[TriggerShown]:
    return page_of(await call.client.triggers.alist(), by_name, query.after, query.limit, TriggerShown.of)


@served(triggers.get)
async def get(call: ApiCall, name_or_id: str) -> Versioned[TriggerShown]:
    return _shown(await call.client.triggers.aget(name_or_id))


@served(triggers.matches)
async def matches(call: ApiCall, name_or_id: str, query: TriggerMatchesQuery) -> ListPage[Matched]:
    found = await call.client.triggers.amatches(name_or_id, before=query.before, limit=query.limit)
    return ListPage(items=[*found], next=found[-1].event if len(found) == query.limit else None)


@served(triggers.change)
async def change(
    call: ApiCall, name_or_id: str, body: TriggerChange, condition: Precondition
) -> Versioned[TriggerShown]:
    changes: Any = body.options()
    return await _change(call, name_or_id, condition, changes)


@served(triggers.enable)
async def enable(call: ApiCall, name_or_id: str, condition: Precondition) -> Versioned[TriggerShown]:
    return await _change(call, name_or_id, condition, {"enabled": True})


@served(triggers.disable)
async def disable(call: ApiCall, name_or_id: str, condition: Precondition) -> Versioned[TriggerShown]:
    return await _change(call, name_or_id, condition, {"enabled": False})


async def _change(
    call: ApiCall, name_or_id: str, condition: Precondition, changes: TriggerChanges
) -> Versioned[TriggerShown]:
    """Change a trigger; with `If-Match` only the version that was read: the store compares it as it writes."""
    verbs = call.client.triggers
    if condition.is_empty:
        return _shown(await verbs.aupdate(name_or_id, **changes))
    known = await verbs.aget(name_or_id)
    condition.check(trigger_etag(known), id=known.id, tenant=known.tenant, source=known.source)
    return _shown(await verbs.aupdate(known.id, expected=condition.expected(known.version), **changes))


@served(triggers.delete)
async def delete(call: ApiCall, name_or_id: str, condition: Precondition) -> None:
    verbs = call.client.triggers
    known = await verbs.aget(name_or_id)
    condition.check(trigger_etag(known))
    await verbs.adelete(known.id, expected=condition.expected(known.version))


_number: Callable[[Invocation], int] = attrgetter("attempt_number")


@served(executions.list_)
async def list_executions(call: ApiCall, query: ExecutionsQuery) -> ListPage[Execution]:
    client = call.client
    wanted: dict[str, Any] = {"trigger": query.trigger, "event": query.event, "status": query.status}
    source = PageSource(lambda cursor, number: client.executions(**wanted, before=cursor, limit=number), by_id)
    page = await client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)


@served(executions.get)
async def get_execution(call: ApiCall, execution_id: str) -> Execution:
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
