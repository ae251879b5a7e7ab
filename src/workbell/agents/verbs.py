"""The verbs about agents: `bell.agents.pairing`, pair, list, get, label, enable, disable, delete; async with an `a`.

`working` is what an agent itself does, over HTTP; the routes pass it on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec

from workbell.access.secret_text import NewToken
from workbell.access.verified import Verified
from workbell.agents.naming import agent_labels
from workbell.agents.pairing import EXPIRES, Paired, end_tokens, named, new_pairing, pair
from workbell.agents.working import LEASE, Working
from workbell.errors import AgentNotFound, StoreError
from workbell.model.agent import Agent
from workbell.model.ids import is_id
from workbell.runs.runtime import Runtime, in_thread


class Agents:
    """The agents of a tenant: `bell.agents`."""

    def __init__(self, runtime: Runtime, verified: Verified, lease: timedelta = LEASE) -> None:
        self._runtime = runtime
        self._verified = verified
        self.working = Working(runtime, lease)

    # Make

    def pairing(
        self,
        name: str | None = None,
        *,
        labels: Sequence[str] = (),
        expires: float | timedelta = EXPIRES,
        created_by: str = "",
    ) -> NewToken:
        """A token that pairs one machine: `token, text = bell.agents.pairing("web-1", labels=["gpu"])`.

        It is good for once, and for a quarter of an hour. The agent cannot choose its labels, nor a name given
        here; a name that exists is taken over by it, with its labels if none are given.
        """
        return new_pairing(self._runtime, name, labels, expires, created_by)

    apairing = in_thread(pairing)

    def pair(
        self,
        text: str,
        *,
        name: str | None = None,
        labels: Sequence[str] | None = None,
        host: str = "",
        version: str = "",
    ) -> Paired:
        """Exchange a pairing token for an agent and its own token; of whichever tenant the pairing is."""
        return pair(self._runtime.store, self._verified, text, name, labels, host, version)

    apair = in_thread(pair)

    # Read

    def list(self) -> Sequence[Agent]:
        """All agents, by name."""
        return self._runtime.store.agents.list(self._runtime.tenant)

    alist = in_thread(list)  # noqa: A003

    def get(self, name: str) -> Agent:
        """An agent by its name or its id."""
        store, tenant = self._runtime.store, self._runtime.tenant
        found = store.agents.find(name) if is_id(name) else named(store, tenant, name)
        if found is None or found.tenant != tenant:
            raise AgentNotFound(f"There is no agent {name!r} of tenant {tenant}; pair one, or list those there are.")
        return found

    aget = in_thread(get)

    # Change

    def change(self, name: str, *, labels: Sequence[str] | None = None, enabled: bool | None = None) -> Agent:
        """Change what is named; the rest stays."""
        fields: dict[str, Any] = {} if labels is None else {"labels": agent_labels(labels)}
        return self._change(name, **fields, **({} if enabled is None else {"enabled": enabled}))

    def label(self, name: str, labels: Sequence[str]) -> Agent:
        """Give an agent these labels instead of those it has; from its next poll on it gets their runs."""
        return self._change(name, labels=agent_labels(labels))

    alabel = in_thread(label)

    def enable(self, name: str) -> Agent:
        """Let an agent have runs again."""
        return self._change(name, enabled=True)

    aenable = in_thread(enable)

    def disable(self, name: str) -> Agent:
        """Let an agent have no more runs; those that it has, it may end."""
        return self._change(name, enabled=False)

    adisable = in_thread(disable)

    def _change(self, name: str, **fields: Any) -> Agent:
        known = self.get(name)
        unreadable = known.unreadable and known.unreadable.left(fields)
        changed = msgspec.structs.replace(known, **fields, unreadable=unreadable)
        if not self._runtime.store.agents.put(changed):
            raise StoreError(f"agent {changed.name}: it could not be changed; try again.")
        self._runtime.store.wake()
        return changed

    def delete(self, name: str) -> None:
        """Forget an agent; its tokens are valid no more. Runs that are aimed at it wait for another of its name."""
        agent = self.get(name)
        end_tokens(self._runtime.store, self._verified, agent, self._runtime.store.clock.now())
        self._runtime.store.agents.delete(agent.id)

    adelete = in_thread(delete)
