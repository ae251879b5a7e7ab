"""The registry of agents, in the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from workbell.model.agent import Agent
from workbell.stores.database import Batch, Conflict, Database, Row, Statement, read_rows, write_rows
from workbell.stores.pending_entry import write_action, write_guarded
from workbell.stores.reading import Column, RowReader, object_text, optional, written_back

AGENT = tuple(name.removesuffix("_text") for name in Agent.__struct_fields__ if name != "unreadable")

_names = msgspec.json.Decoder(tuple[str, ...])
_rows = RowReader(
    AGENT,
    "set its labels, or pair it again.",
    labels=Column(_names.decode, ()),
    jobs=Column(optional(_names.decode)),
    metrics=Column(object_text),
)


Listed = list[Agent]  # inside the class `list` is the verb


class StoredAgents:
    """Programs on other machines that take runs over HTTP. Names are unique in a tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, agent: Agent) -> bool:
        """Make an agent known, or change what is known of it; false, if another one has its name."""
        try:
            write_action(self._database, [Statement("put_agent", _values(agent))], makes=agent.id)
        except Conflict:
            return False
        return True

    def see(
        self, agent_id: str, now: datetime, *, jobs: Sequence[str] | None = None, metrics_text: str | None = None
    ) -> None:
        """Note a sign of life of an agent, with what it reported of itself; what is None stays as it is."""
        reported = None if jobs is None else _text(list(jobs))
        write_rows(self._database, "see_agent", id=agent_id, now=now, jobs=reported, metrics=metrics_text)

    def find(self, agent_id: str) -> Agent | None:
        found = read_rows(self._database, "find_agent", id=agent_id)
        return _agent(found[0]) if found else None

    def list(self, tenant: str | None = None) -> Listed:
        """The agents of a tenant, or of all, by name."""
        if tenant is None:
            found = read_rows(self._database, "agents")
        else:
            found = read_rows(self._database, "list_agents", tenant=tenant)
        return sorted(map(_agent, found), key=lambda agent: (agent.name, agent.tenant))

    def delete(self, agent_id: str) -> bool:
        return bool(write_guarded(self._database, Statement("delete_agent", {"id": agent_id})))

    def loading(self, agents: Sequence[Agent]) -> Batch:
        """The statements that take over agents of another store."""
        return [Statement("load_agent", _values(agent)) for agent in agents]


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _values(agent: Agent) -> dict[str, Any]:
    values = msgspec.structs.asdict(agent)
    values["metrics"] = values.pop("metrics_text")
    values["jobs"] = None if agent.jobs is None else _text(agent.jobs)
    return written_back(values | {"labels": _text(agent.labels)}, agent.unreadable)


def _agent(row: Row) -> Agent:
    values = _rows.read(row)
    values["metrics_text"] = values.pop("metrics")
    return Agent(**(values | {"enabled": bool(values["enabled"])}))
