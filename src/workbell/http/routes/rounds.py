"""Handlers of the one-shot calls: a cron trigger or a queue of somebody else has the server do one round."""

from __future__ import annotations

import asyncio

from workbell.engine.consume_round import ConsumeRound
from workbell.errors import Forbidden, InvalidOption, TooMany
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.service import Service
from workbell.model.access import EVERY_TENANT
from workbell.model.one_shot import CONSUMED_RUNS, Consumed, Dispatched
from workbell.queues.message import check_version
from workbell.wire import rounds
from workbell.wire.rounds import ConsumeBody, DispatchBody

served = Served()

MOST_ROUNDS = 20  # of work at once: each has threads of its own, and a queue may push from 250 places
AGAIN = 5  # seconds


@served(rounds.dispatch)
async def dispatch(call: ApiCall, body: DispatchBody) -> Dispatched:
    return await _service_of_all(call).one_shot.adispatch(limit=body.limit)


@served(rounds.consume)
async def consume(call: ApiCall, body: ConsumeBody) -> Consumed:
    service = _service_of_all(call)
    check_version(body.version)
    message = body.message()
    if body.limit is not None and (message is not None or body.runs is not None):
        raise InvalidOption("limit: it is for what the server chooses; with a message or `runs` leave it out.")
    work = service.one_shot.begin(
        message=message, runs=body.runs, limit=body.limit or CONSUMED_RUNS, seconds=body.seconds
    )
    if service.rounds >= MOST_ROUNDS:
        error = TooMany(f"This server works on {MOST_ROUNDS} rounds; ask again in {AGAIN} s, or less often.")
        error.retry_after = AGAIN
        raise error
    service.rounds += 1
    try:
        return await _unless_stopped(service, work)
    finally:
        service.rounds -= 1


async def _unless_stopped(service: Service, work: ConsumeRound) -> Consumed:
    """A server that stops hands back what has not ended, and answers `retry` for it."""
    working = asyncio.ensure_future(work.run())
    stopped = asyncio.ensure_future(service.stopping.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            work.stop()
        return await working
    finally:
        stopped.cancel()


def _service_of_all(call: ApiCall) -> Service:
    """The runs are those of every tenant, as for a worker."""
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("A round is for the runs of all tenants; it needs a token of all tenants (--every-tenant).")
    return call.service
