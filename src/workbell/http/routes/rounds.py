"""Routes of the one-shot calls: a cron trigger or a queue of somebody else has the server do one round."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from workbell.engine.consume_round import ConsumeRound
from workbell.engine.one_shot import RUNS
from workbell.errors import Forbidden, InvalidOption, TooMany
from workbell.http.answers import JsonResponse
from workbell.http.call import call_of
from workbell.http.routing import Routes
from workbell.http.schemas.rounds import ConsumeBody, ConsumedShown, DispatchBody, DispatchedShown
from workbell.http.service import Service
from workbell.model.access import EVERY_TENANT, Scope
from workbell.model.one_shot import Consumed
from workbell.queues.message import check_version

routes = Routes("rounds")

MOST_ROUNDS = 20  # of work at once: each has threads of its own, and a queue may push from 250 places
AGAIN = 5  # seconds
ALL, ANY = DispatchBody.model_validate({}), ConsumeBody.model_validate({})  # without a body


@routes.add("POST", "/dispatch", needs=Scope.DISPATCH, answers=DispatchedShown)
async def dispatch(request: Request, asked: DispatchBody = ALL) -> Response:
    """Do one round of due schedules, events, runs and lost workers; send what was queued to the queue.

    For cron triggers, where no engine runs all the time. Only with a token of all tenants.
    """
    return JsonResponse(await _service_of_all(request).one_shot.adispatch(limit=asked.limit))


@routes.add("POST", "/consume", needs=Scope.CONSUME, answers=ConsumedShown)
async def consume(request: Request, asked: ConsumeBody = ANY) -> Response:
    """Have this server execute queued runs, and answer when they have ended.

    For queues that push messages, and for serverless hosts. Only with a token of all tenants. Messages of an unknown
    version are refused, and nothing is taken.
    """
    service = _service_of_all(request)
    check_version(asked.version)
    if asked.runs is not None and asked.limit is not None:
        raise InvalidOption("limit: it is for what the server chooses; with `runs` leave it out.")
    work = service.one_shot.begin(runs=asked.runs, limit=asked.limit or RUNS, seconds=asked.seconds)
    if service.rounds >= MOST_ROUNDS:
        error = TooMany(f"This server works on {MOST_ROUNDS} rounds; ask again in {AGAIN} s, or less often.")
        error.retry_after = AGAIN
        raise error
    service.rounds += 1
    try:
        return JsonResponse(await _unless_stopped(service, work))
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


def _service_of_all(request: Request) -> Service:
    """The runs are those of every tenant, as for a worker."""
    call = call_of(request)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("A round is for the runs of all tenants; it needs a token of all tenants (--every-tenant).")
    return call.service
