"""The verbs about agents, and about the runs that wait for one, that every SQL store has alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from workbell.model.agent import Agent
from workbell.model.run import Lane
from workbell.stores import service_rows
from workbell.stores.service_port import Head
from workbell.stores.session import Row, Session

T = TypeVar("T")


class _NameTaken(Exception):
    """Takes back what a transaction has written."""


class SqlAgents(ABC):
    """The registry of agents over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def _lane(self, lane_id: int, parts: Row) -> Lane: ...

    def put_agent(self, agent: Agent) -> bool:
        values = service_rows.agent_values(agent)

        def work(session: Session) -> bool:
            if session.rows("update_agent", **{name: value for name, value in values.items() if name != "created_at"}):
                return True
            # With another name it is written anew: of two who take the same name at once, one is told so by the
            # insertion; from an update the loser would get an error.
            known = session.rows("delete_agent", id=agent.id)
            created_at = known[0][0] if known else agent.created_at
            if not session.rows("add_agent", **(values | {"created_at": created_at})):
                raise _NameTaken
            return True

        try:
            return self.write(work)
        except _NameTaken:
            return False

    def see_agent(
        self, agent_id: str, now: datetime, *, jobs: Sequence[str] | None = None, metrics_text: str | None = None
    ) -> None:
        told = None if jobs is None else service_rows.names_text(jobs)
        values = {"id": agent_id, "now": now, "jobs": told, "metrics": metrics_text}
        self.write(lambda session: session.rows("see_agent", **values))

    def find_agent(self, agent_id: str) -> Agent | None:
        found = self.read(lambda session: session.rows("find_agent", id=agent_id))
        return service_rows.agent_from(found[0]) if found else None

    def list_agents(self, tenant: str | None = None) -> list[Agent]:
        def work(session: Session) -> list[Agent]:
            found = session.rows("agents") if tenant is None else session.rows("list_agents", tenant=tenant)
            return [service_rows.agent_from(row) for row in found]

        return sorted(self.read(work), key=lambda agent: (agent.name, agent.tenant))

    def delete_agent(self, agent_id: str) -> bool:
        return bool(self.write(lambda session: session.rows("delete_agent", id=agent_id)))

    # What waits for them

    def survey_targets(self, tenant: str, targets: Sequence[str], limit: int) -> list[Head]:
        if not targets:
            return []
        values = {"tenant": tenant, "targets": list(targets), "limit": limit}
        found = self.read(lambda session: session.rows("survey_targets", **values))
        return [Head(row[0], row[1], self._lane(row[0], row[2:])) for row in found]

    def waiting_targets(self) -> set[tuple[str, str]]:
        return {(row[0], row[1]) for row in self.read(lambda session: session.rows("waiting_targets"))}
