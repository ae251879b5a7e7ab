"""Handlers of queues: list, pause and resume them; and of all that is paused."""

from __future__ import annotations

from operator import attrgetter

from workbell.http.framework.bounded_pages import by_name, page_of
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.pause import Pause
from workbell.model.queue_scale import Scale
from workbell.model.queue_state import QueueState
from workbell.wire import queues
from workbell.wire.operation import ListPage
from workbell.wire.pauses import Resumed
from workbell.wire.queues import PausesQuery, QueueBody, QueuesQuery, ScaleQuery

served = Served()


@served(queues.list_)
async def list_(call: ApiCall, query: QueuesQuery) -> ListPage[QueueState]:
    return page_of(await call.client.queues.alist(), by_name, query.after, query.limit)


@served(queues.scale)
async def scale(call: ApiCall, query: ScaleQuery) -> Scale:
    return await call.client.queues.ascale(query.queue)


@served(queues.pause)
async def pause(call: ApiCall, name: str, body: QueueBody) -> Pause:
    return await call.client.apause(queue=name, job=body.job)


@served(queues.resume)
async def resume(call: ApiCall, name: str, body: QueueBody) -> Resumed:
    return Resumed(ended=await call.client.aresume(queue=name, job=body.job))


@served(queues.pauses)
async def pauses(call: ApiCall, query: PausesQuery) -> ListPage[Pause]:
    return page_of(await call.client.apauses(), attrgetter("position"), query.after, query.limit)
