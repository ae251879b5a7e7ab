"""The registry of agents in a dict, and what waits for them: a part of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from workbell.model.agent import Agent
from workbell.model.run import Lane, Run, Status
from workbell.stores.port import Head


class MemoryAgents:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock
    _live: dict[str, Run]

    def __init__(self) -> None:
        super().__init__()
        self._agents: dict[str, Agent] = {}

    def _is_paused(self, lane: Lane) -> bool:
        raise NotImplementedError

    def put_agent(self, agent: Agent) -> bool:
        with self._lock:
            if not self._has_name_free(agent):
                return False
            known = self._agents.get(agent.id, agent)
            self._agents[agent.id] = replace(agent, created_at=known.created_at)
            return True

    def _has_name_free(self, agent: Agent) -> bool:
        place = (agent.tenant, agent.name)
        return all((one.tenant, one.name) != place or one.id == agent.id for one in self._agents.values())

    def see_agent(
        self, agent_id: str, now: datetime, *, jobs: Sequence[str] | None = None, metrics_text: str | None = None
    ) -> None:
        with self._lock:
            known = self._agents.get(agent_id)
            if known is not None:
                told = known.jobs if jobs is None else tuple(jobs)
                metrics = known.metrics_text if metrics_text is None else metrics_text
                self._agents[agent_id] = replace(known, seen_at=now, jobs=told, metrics_text=metrics)

    def find_agent(self, agent_id: str) -> Agent | None:
        return self._agents.get(agent_id)

    def list_agents(self, tenant: str | None = None) -> list[Agent]:
        with self._lock:
            found = [agent for agent in self._agents.values() if tenant in (None, agent.tenant)]
        return sorted(found, key=lambda agent: (agent.name, agent.tenant))

    def delete_agent(self, agent_id: str) -> bool:
        with self._lock:
            return self._agents.pop(agent_id, None) is not None

    # What waits for them

    def survey_targets(self, tenant: str, targets: Sequence[str], limit: int) -> list[Head]:
        with self._lock:
            heads = {
                (rank, lane.id, lane)
                for lane, rank in self._aimed()
                if lane.tenant == tenant and lane.target in targets
            }
        return [Head(lane_id, rank, lane) for rank, lane_id, lane in sorted(heads, key=lambda head: head[:2])[:limit]]

    def waiting_targets(self) -> set[tuple[str, str]]:
        with self._lock:
            return {(lane.tenant, lane.target) for lane, _ in self._aimed() if lane.target is not None}

    def _aimed(self) -> set[tuple[Lane, int]]:
        queued = {
            (run.lane, run.rank)
            for run in self._live.values()
            if run.status is Status.QUEUED and run.lane.target is not None
        }
        return {(lane, rank) for lane, rank in queued if not self._is_paused(lane)}

    def _load_agents(self, agents: Iterable[Agent]) -> None:
        for agent in agents:
            if agent.id not in self._agents and self._has_name_free(agent):
                self._agents[agent.id] = agent
