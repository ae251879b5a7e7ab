"""Handlers of workers: list them with their runs, drain and resume one, list the rewinds they noticed."""

from __future__ import annotations

import msgspec

from workbell.errors import Forbidden
from workbell.http.features.worker_facts import for_tenant
from workbell.http.framework.bounded_pages import PageSource, by_id, page_of, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.access import EVERY_TENANT
from workbell.model.rewind import Rewind
from workbell.model.worker import SeenWorker, alias_of
from workbell.wire import workers
from workbell.wire.operation import ListPage
from workbell.wire.workers import RewindsQuery, WorkerShown, WorkersQuery

served = Served()


@served(workers.list_)
async def list_(call: ApiCall, query: WorkersQuery) -> ListPage[WorkerShown]:
    return await call.client.runtime.hop(_page, call, query)


def _page(call: ApiCall, query: WorkersQuery) -> ListPage[WorkerShown]:
    """Workers in the order of the ids that the caller sees."""
    seen = call.client.workers()
    if call.is_operator:
        return page_of(seen, _id, query.after, query.limit, WorkerShown.of)
    jobs = {job.name for job in call.client.jobs.list()}
    return page_of(seen, _alias, query.after, query.limit, lambda one: for_tenant(one, jobs))


def _id(seen: SeenWorker) -> str:
    return seen.worker.id


def _alias(seen: SeenWorker) -> str:
    return alias_of(seen.worker.id)


@served(workers.drain)
async def drain(call: ApiCall, worker_id: str) -> WorkerShown:
    _check_all(call)
    return WorkerShown.of(await call.client.adrain_worker(worker_id))


@served(workers.resume)
async def resume(call: ApiCall, worker_id: str) -> WorkerShown:
    _check_all(call)
    return WorkerShown.of(await call.client.aresume_worker(worker_id))


@served(workers.rewinds)
async def rewinds(call: ApiCall, query: RewindsQuery) -> ListPage[Rewind]:
    def shown(one: Rewind) -> Rewind:
        return one if call.is_operator else msgspec.structs.replace(one, worker=alias_of(one.worker))

    source = PageSource(lambda before, number: call.client.workers.rewinds(before=before, limit=number), by_id, shown)
    page = await call.client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)


def _check_all(call: ApiCall) -> None:
    """A tenant must not take the workers away from the others."""
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("Workers are shared by all tenants: they are drained and resumed with a token of all tenants.")
