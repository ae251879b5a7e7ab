"""Routes of agents: pair, list and change them; and the agent protocol, authorised by the agent's token."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.access.secret_text import hash_of
from workbell.agents.describe import describe_agent, describe_handed_out, describe_lease
from workbell.agents.log_lines import AgentLogLine
from workbell.agents.reports import AttemptReport
from workbell.agents.verbs import Agents
from workbell.agents.working import HandedOut, Working
from workbell.errors import Unauthorized
from workbell.http.answers import JsonResponse, nothing
from workbell.http.audit_trail import note
from workbell.http.call import ApiCall, call_of
from workbell.http.open_limits import POLLS
from workbell.http.routing import Routes
from workbell.http.schemas.agents import (
    AgentChange,
    AgentShown,
    HandedRuns,
    HeartbeatBody,
    HeldRun,
    LeasesShown,
    NewPairing,
    PairBody,
    PairedShown,
    PairingShown,
    PollBody,
    ProgressBody,
    ResultBody,
    RunTaken,
    TakeBody,
    TakenShown,
)
from workbell.http.schemas.base import Limit, ListPage
from workbell.model.access import Scope
from workbell.model.agent import Agent
from workbell.model.audit import Actor, ActorKind
from workbell.stores.port import Held

routes = Routes("agents")

SLICE = 20.0  # seconds of a long wait after which it is asked again who the agent is, and noted that it is there
QUIET = 1.0  # between two polls of an agent for which nothing but what it cannot take is queued
SECRET = {"Cache-Control": "no-store"}


def _agents(call: ApiCall) -> Agents:
    return Agents(call.client.runtime, call.client.verified, call.service.settings.lease_span)


def _shown(call: ApiCall, agent: Agent, status: int = 200) -> JsonResponse:
    return JsonResponse(describe_agent(agent, call.client.store.clock.now()), status)


# The agent itself


async def _self(call: ApiCall) -> tuple[Working, Agent]:
    working = _agents(call).working
    return working, await call.client.runtime.hop(working.agent, call.access.agent)


@routes.add("POST", "/agents/self/poll", needs=Scope.AGENT, answers=HandedRuns)
async def poll(request: Request, asked: PollBody) -> Response:
    """Take runs that are aimed at this agent, waiting for one if there is none; empty after the wait."""
    call = call_of(request)
    with call.service.opened.polls.one_more(POLLS, call.who):
        return await _poll_until(request, call, asked)


async def _poll_until(request: Request, call: ApiCall, asked: PollBody) -> Response:
    """Claim, and wait between two claims, until there is a run or the time is up."""
    loop = asyncio.get_running_loop()
    end, woken = loop.time() + asked.wait, False
    with call.service.access_watch.watch(call.access, request) as opened:
        while True:
            working, agent = await _self(call)
            if await request.is_disconnected():
                return JsonResponse({"runs": []})  # the caller has gone: nobody would receive what is claimed
            runs = await call.client.runtime.hop(_poll, working, agent, asked)
            if runs and asked.session is None and await request.is_disconnected():
                # With a session they are handed out again at its next poll, which may be under way.
                await call.client.runtime.hop(_hand_back, working, agent, runs)
                return JsonResponse({"runs": []})
            left = end - loop.time()
            if runs or left <= 0 or call.service.stopping.is_set():
                return JsonResponse({"runs": [describe_handed_out(handed) for handed in runs]})
            quiet = QUIET if woken else 0.0
            waiting = call.service.waiting_agents.wait(agent.tenant, agent.targets, min(left, SLICE), quiet)
            woken = await call.service.unless_stopped(waiting, False, opened.over)
            opened.check()


def _poll(working: Working, agent: Agent, asked: PollBody) -> Sequence[HandedOut]:
    return working.poll(
        agent,
        asked.session,
        jobs=asked.jobs,
        capacity=asked.capacity,
        lease=asked.lease,
        holding=_held(asked.holding),
    )


def _hand_back(working: Working, agent: Agent, runs: Sequence[HandedOut]) -> None:
    for run, *_ in runs:
        working.result(agent, run.id, run.token, AttemptReport(status="released"))


def _held(holding: Sequence[HeldRun]) -> Sequence[Held]:
    return [Held(one.id, one.token) for one in holding]


@routes.add("POST", "/agents/self/runs/{run_id}/take", needs=Scope.AGENT, answers=RunTaken)
async def take(request: Request, run_id: str, asked: TakeBody) -> Response:
    """Take one run by its id, if it is aimed at this agent and waits in the queue."""
    call = call_of(request)
    working, agent = await _self(call)
    handed, status = await call.client.runtime.hop(
        lambda: working.take(agent, run_id, asked.session, lease=asked.lease)
    )
    return JsonResponse({"run": None if handed is None else describe_handed_out(handed), "status": status})


@routes.add("POST", "/agents/self/heartbeat", needs=Scope.AGENT, answers=LeasesShown)
async def heartbeat(request: Request, asked: HeartbeatBody) -> Response:
    """Renew the leases of runs; the answer names lost leases and cancel requests."""
    call = call_of(request)
    working, agent = await _self(call)
    renewed = await call.client.runtime.hop(
        lambda: working.heartbeat(
            agent, asked.session, holding=_held(asked.holding), lease=asked.lease, metrics=asked.metrics
        )
    )
    return JsonResponse({"runs": [describe_lease(one) for one in renewed]})


@routes.add("POST", "/agents/self/runs/{run_id}/progress", needs=Scope.AGENT, answers=TakenShown)
async def progress(request: Request, run_id: str, asked: ProgressBody) -> Response:
    """Report the progress and log lines of a run."""
    call = call_of(request)
    working, agent = await _self(call)
    lines = [AgentLogLine(message=one.message, level=one.level, line=one.line, at=one.at) for one in asked.logs]
    taken = await call.client.runtime.hop(
        lambda: working.progress(
            agent,
            run_id,
            asked.token,
            asked.session,
            done=asked.done,
            total=asked.total,
            message=asked.message,
            lines=lines,
        )
    )
    return JsonResponse({"taken": taken})


@routes.add("POST", "/agents/self/runs/{run_id}/result", needs=Scope.AGENT, answers=TakenShown)
async def result(request: Request, run_id: str, asked: ResultBody) -> Response:
    """Report the result of a run. Idempotent: it is taken once."""
    call = call_of(request)
    working, agent = await _self(call)
    report = AttemptReport(
        status=asked.status,
        result=asked.result,
        error=asked.error,
        reason=asked.reason,
        kinds=tuple(asked.kinds),
        retry_after=asked.retry_after,
        final=asked.final,
    )
    taken = await call.client.runtime.hop(lambda: working.result(agent, run_id, asked.token, report, asked.session))
    return JsonResponse({"taken": taken})


@routes.add("GET", "/agents/self", needs=Scope.AGENT, answers=AgentShown)
async def me(request: Request) -> Response:
    """Show the calling agent."""
    call = call_of(request)
    return _shown(call, (await _self(call))[1])


# Pairing


@routes.add("POST", "/agents/pair", needs=None, open=True, answers=PairedShown, status=201)
async def pair(request: Request, asked: PairBody) -> Response:
    """Become an agent: exchange a pairing token for one's own."""
    call = call_of(request)
    pairing = await call.client.runtime.hop(call.client.store.tokens.find, hash_of(asked.token))
    try:
        agent, text = await _agents(call).apair(
            asked.token, name=asked.name, labels=asked.labels, host=asked.host, version=asked.version
        )
    except Unauthorized:
        call.service.count_failure(request)
        raise
    who = Actor(kind=ActorKind.AGENT, name=agent.name, token=None if pairing is None else pairing.id)
    await note(call.client, request, who, "agents.pair", agent.id, tenant=agent.tenant)
    shown = describe_agent(agent, call.client.store.clock.now())
    return JsonResponse({"agent": shown, "token": text}, 201, SECRET)


@routes.add("POST", "/agents/pairings", needs=Scope.ADMIN, answers=PairingShown, status=201)
async def allow(request: Request, asked: NewPairing) -> Response:
    """Allow one machine to pair: make the token that it needs."""
    call = call_of(request)
    token, text = await _agents(call).apairing(
        asked.name, labels=asked.labels, expires=asked.expires, created_by=str(call.access.who)
    )
    call.subject = token.id
    return JsonResponse({"id": token.id, "token": text, "expires_at": token.expires_at}, 201, SECRET)


# Read and change


@routes.add("GET", "/agents", needs=Scope.READ, answers=ListPage[AgentShown])
async def list(  # noqa: A001
    request: Request,
    after: Annotated[str, Query(description="The cursor: `next` of the page before.", max_length=200)] = "",
    limit: Limit = 100,
) -> Response:
    """List agents by name."""
    call = call_of(request)
    found = [agent for agent in await _agents(call).alist() if agent.name > after]
    now = call.client.store.clock.now()
    following = found[limit - 1].name if len(found) > limit else None
    return JsonResponse({"items": [describe_agent(agent, now) for agent in found[:limit]], "next": following})


@routes.add("GET", "/agents/{name}", needs=Scope.READ, answers=AgentShown)
async def get(request: Request, name: str) -> Response:
    """Show an agent, by its name or id."""
    call = call_of(request)
    return _shown(call, await _agents(call).aget(name))


@routes.add("PATCH", "/agents/{name}", needs=Scope.ADMIN, answers=AgentShown)
async def change(request: Request, name: str, asked: AgentChange) -> Response:
    """Give an agent other labels, or switch it off and on."""
    call = call_of(request)
    verbs = _agents(call)
    return _shown(
        call, await call.client.runtime.hop(lambda: verbs.change(name, labels=asked.labels, enabled=asked.enabled))
    )


@routes.add("DELETE", "/agents/{name}", needs=Scope.ADMIN, status=204)
async def delete(request: Request, name: str) -> Response:
    """Remove an agent, and revoke its token."""
    await _agents(call_of(request)).adelete(name)
    return nothing()
