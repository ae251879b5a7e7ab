"""Agent checks of the doctor: which agents report, and which queued runs no agent takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from workbell.doctor.finding import Finding, each_unserved
from workbell.model.agent import Agent, out_of_reach
from workbell.stores.port import Counts, Store


def agent_findings(store: Store, lanes: Sequence[Counts], numbers: dict[str, Any]) -> Iterator[Finding]:
    now = store.clock.now()
    agents = store.agents.list(None)
    alive = sum(agent.enabled and agent.is_alive(now) for agent in agents)
    disabled = sum(not agent.enabled for agent in agents)
    numbers["agents"] = {"alive": alive, "lost": len(agents) - alive - disabled, "disabled": disabled}
    if agents:
        counted = ", ".join(f"{count:,} {word}" for word, count in numbers["agents"].items() if count)
        yield Finding("ok", "agents", counted)
    yield from _unserved(store, agents, lanes)


def _unserved(store: Store, agents: Sequence[Agent], lanes: Sequence[Counts]) -> Iterator[Finding]:
    """Queued runs whose target no agent serves; lanes that differ only by key share one finding."""
    now = store.clock.now()
    queued: Counter[tuple[str, str, str]] = Counter()
    for counts in lanes:
        if counts.queued and not counts.paused and counts.lane.target is not None:
            queued[counts.lane.tenant, counts.lane.target, counts.lane.job] += counts.queued
    unserved = []
    handlers = {(job.tenant, job.name): job.handler for job in store.definitions.list()} if queued else {}
    for (tenant, target, job), count in queued.most_common():
        meant = [agent for agent in agents if agent.tenant == tenant and target in agent.targets]
        reason = out_of_reach(meant, target, handlers.get((tenant, job), job), now)
        if reason is not None:
            name = f"target {target}, job {job}" + (f", tenant {tenant}" if tenant != "default" else "")
            unserved.append(
                f"{name}: {count:,} queued run{'s' if count > 1 else ''}, and no agent takes them. {reason}"
            )
    yield from each_unserved(unserved)
