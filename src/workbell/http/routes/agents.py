"""Handlers of agents: pair, list and change them; and the agent protocol, authorised by the agent's token."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from starlette.responses import Response

from workbell.access.secret_text import hash_of
from workbell.agents.verbs import Agents
from workbell.agents.working import HandedOut, Working
from workbell.errors import Unauthorized
from workbell.http.framework.answers import JsonResponse
from workbell.http.framework.bounded_pages import by_name, page_of
from workbell.http.framework.call import ApiCall, departure
from workbell.http.framework.operations import Served
from workbell.http.policies.audit_trail import audited_as
from workbell.http.policies.idempotency import NO_STORE, MadeOnce, answer_secret
from workbell.http.policies.open_limits import POLLS
from workbell.model.access import Token
from workbell.model.agent import Agent, Ending
from workbell.model.audit import Actor, ActorKind
from workbell.model.pairing import terms_of
from workbell.stores.port import Held
from workbell.wire import agents
from workbell.wire.agents import (
    AgentChange,
    AgentShown,
    AgentsQuery,
    AttemptReport,
    HandedRun,
    HandedRuns,
    HeartbeatBody,
    HeldLease,
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
from workbell.wire.operation import ListPage

served = Served()

SLICE = 20.0  # seconds of a long wait after which it is asked again who the agent is, and noted that it is there
QUIET = 1.0  # between two polls of an agent for which nothing but what it cannot take is queued


def _agents(call: ApiCall) -> Agents:
    return call.service.agents_of(call.client)


def _shown(call: ApiCall, agent: Agent) -> AgentShown:
    return AgentShown.of(agent, call.client.store.clock.now())


# The agent itself


async def _self(call: ApiCall) -> tuple[Working, Agent]:
    working = _agents(call).working
    return working, await call.client.runtime.hop(working.agent, call.access.agent)


@served(agents.poll)
async def poll(call: ApiCall, body: PollBody) -> HandedRuns:
    with call.service.opened.polls.one_more(POLLS, call.who):
        return HandedRuns(runs=[_handed(one) for one in await _poll_until(call, body)])


async def _poll_until(call: ApiCall, body: PollBody) -> Sequence[HandedOut]:
    """Claim, and wait between two claims, until there is a run, the time is up or the caller has gone."""
    loop = asyncio.get_running_loop()
    end, woken = loop.time() + body.wait, False
    with call.service.access_watch.watch(call.access, call.request) as opened, departure(call.request) as departed:
        while True:
            working, agent = await _self(call)
            if departed.done():
                return []  # nobody would receive what is claimed
            runs = await call.client.runtime.hop(_poll, working, agent, body)
            if runs and body.session is None and departed.done():
                # With a session they are handed out again at its next poll, which may be under way.
                await call.client.runtime.hop(_hand_back, working, agent, runs)
                return []
            left = end - loop.time()
            if runs or left <= 0 or call.service.stopping.is_set():
                return runs
            quiet = QUIET if woken else 0.0
            waiting = call.service.waiting_agents.wait(agent.tenant, agent.targets, min(left, SLICE), quiet)
            woken = await call.service.unless_stopped(waiting, False, opened.over, departed)
            opened.check()


def _poll(working: Working, agent: Agent, body: PollBody) -> Sequence[HandedOut]:
    return working.poll(
        agent,
        body.session,
        jobs=body.jobs,
        capacity=body.capacity,
        lease=body.lease,
        holding=_held(body.holding),
    )


def _hand_back(working: Working, agent: Agent, runs: Sequence[HandedOut]) -> None:
    for run, *_ in runs:
        working.result(agent, run.id, run.token, AttemptReport(status=Ending.RELEASED))


def _held(holding: Sequence[HeldLease]) -> Sequence[Held]:
    return [Held(one.id, one.token) for one in holding]


def _handed(handed: HandedOut) -> HandedRun:
    return HandedRun.of(handed.run, handler=handed.handler, timeout=handed.timeout, cancel=handed.cancel)


@served(agents.take)
async def take(call: ApiCall, run_id: str, body: TakeBody) -> RunTaken:
    working, agent = await _self(call)
    handed, status = await call.client.runtime.hop(working.take, agent, run_id, body.session, lease=body.lease)
    return RunTaken(run=None if handed is None else _handed(handed), status=status)


@served(agents.heartbeat)
async def heartbeat(call: ApiCall, body: HeartbeatBody) -> LeasesShown:
    working, agent = await _self(call)
    renewed = await call.client.runtime.hop(
        working.heartbeat,
        agent,
        body.session,
        holding=_held(body.holding),
        lease=body.lease,
        metrics=body.metrics,
    )
    return LeasesShown(runs=renewed)


@served(agents.progress)
async def progress(call: ApiCall, run_id: str, body: ProgressBody) -> TakenShown:
    working, agent = await _self(call)
    taken = await call.client.runtime.hop(
        working.progress,
        agent,
        run_id,
        body.token,
        body.session,
        done=body.done,
        total=body.total,
        message=body.message,
        lines=body.logs,
    )
    return TakenShown(taken=taken)


@served(agents.result)
async def result(call: ApiCall, run_id: str, body: ResultBody) -> TakenShown:
    working, agent = await _self(call)
    taken = await call.client.runtime.hop(working.result, agent, run_id, body.token, body, body.session)
    return TakenShown(taken=taken)


@served(agents.me)
async def me(call: ApiCall) -> AgentShown:
    return _shown(call, (await _self(call))[1])


# Pairing


@served(agents.pair)
async def pair(call: ApiCall, body: PairBody) -> Response:
    pairing = await call.client.runtime.hop(call.client.store.tokens.find, hash_of(body.token))
    tenant = call.tenant if pairing is None else pairing.tenant
    actor = partial(_paired_agent, body, pairing)
    try:
        async with audited_as(call.client, call.request, "agents.pair", actor, tenant=tenant) as entry:
            agent, text = await _agents(call).apair(
                body.token, name=body.name, labels=body.labels, host=body.host, version=body.version
            )
            entry.made = agent.id
    except Unauthorized:
        call.service.count_failure(call.request)
        raise
    return JsonResponse(PairedShown(agent=_shown(call, agent), token=text), agents.pair.status, NO_STORE)


def _paired_agent(body: PairBody, pairing: Token | None, _agent_id: str) -> Actor:
    """The agent as an actor: with the name that its pairing fixes, or that it chose."""
    if pairing is None:
        return Actor(kind=ActorKind.AGENT, name=body.name or "")
    return Actor(kind=ActorKind.AGENT, name=terms_of(pairing).agent or body.name or "", token=pairing.id)


@served(agents.allow)
async def allow(call: ApiCall, body: NewPairing) -> Response:
    async def make() -> MadeOnce:
        token, text = await _agents(call).apairing(
            body.name, labels=body.labels, expires=body.expires, created_by=str(call.access.who)
        )
        assert token.expires_at is not None
        call.subject = token.id
        return MadeOnce(PairingShown(id=token.id, token=None, expires_at=token.expires_at), {"token": text})

    return await answer_secret(call, make)


# Read and change


@served(agents.list_)
async def list_(call: ApiCall, query: AgentsQuery) -> ListPage[AgentShown]:
    found, now = await _agents(call).alist(), call.client.store.clock.now()
    return page_of(found, by_name, query.after, query.limit, lambda agent: AgentShown.of(agent, now))


@served(agents.get)
async def get(call: ApiCall, name: str) -> AgentShown:
    return _shown(call, await _agents(call).aget(name))


@served(agents.change)
async def change(call: ApiCall, name: str, body: AgentChange) -> AgentShown:
    verbs = _agents(call)
    changed = await call.client.runtime.hop(verbs.change, name, labels=body.labels, enabled=body.enabled)
    return _shown(call, changed)


@served(agents.delete)
async def delete(call: ApiCall, name: str) -> None:
    await _agents(call).adelete(name)
