"""Methods about agents, over HTTP: `client.agents`. What an agent itself does, `workbell agent` does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from workbell.model.access import Token
from workbell.model.agent import Agent
from workbell.model.clock import seconds
from workbell.remote import service_words as words
from workbell.remote.access import RemoteNewToken
from workbell.remote.call import Plan, RemoteCall, delete, get, path, post
from workbell.remote.readers import every
from workbell.remote.transport import ServiceTransport

EXPIRES = 900.0


class RemoteAgents:
    """The agents of a tenant: `client.agents`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def pairing(
        self, name: str | None = None, *, labels: Sequence[str] = (), expires: float | timedelta = EXPIRES
    ) -> RemoteNewToken:
        """A token that pairs one machine, good for once: `token, text = client.agents.pairing("web-1")`."""
        return self._transport.send(_pairing(name, labels, expires))

    async def apairing(
        self, name: str | None = None, *, labels: Sequence[str] = (), expires: float | timedelta = EXPIRES
    ) -> RemoteNewToken:
        return await self._transport.asend(_pairing(name, labels, expires))

    # Read

    def list(self) -> Sequence[Agent]:
        """All agents, by name."""
        return self._transport.follow(_list())

    async def alist(self) -> Sequence[Agent]:
        return await self._transport.afollow(_list())

    def get(self, name: str) -> Agent:
        """An agent by its name or its id."""
        return self._transport.send(_get(name))

    async def aget(self, name: str) -> Agent:
        return await self._transport.asend(_get(name))

    # Change

    def change(self, name: str, *, labels: Sequence[str] | None = None, enabled: bool | None = None) -> Agent:
        """Change what is named; the rest stays."""
        return self._transport.send(_change(name, labels, enabled))

    async def achange(self, name: str, *, labels: Sequence[str] | None = None, enabled: bool | None = None) -> Agent:
        return await self._transport.asend(_change(name, labels, enabled))

    def label(self, name: str, labels: Sequence[str]) -> Agent:
        """Give an agent these labels instead of those it has; from its next poll on it gets their runs."""
        return self.change(name, labels=labels)

    async def alabel(self, name: str, labels: Sequence[str]) -> Agent:
        return await self.achange(name, labels=labels)

    def enable(self, name: str) -> Agent:
        """Enable an agent: it gets runs again."""
        return self.change(name, enabled=True)

    async def aenable(self, name: str) -> Agent:
        return await self.achange(name, enabled=True)

    def disable(self, name: str) -> Agent:
        """Disable an agent: it gets no more runs, and may end those that it has."""
        return self.change(name, enabled=False)

    async def adisable(self, name: str) -> Agent:
        return await self.achange(name, enabled=False)

    def delete(self, name: str) -> None:
        """Forget an agent; its tokens are valid no more. Runs that are aimed at it wait for another of its name."""
        self._transport.send(delete(path("agents", name)))

    async def adelete(self, name: str) -> None:
        await self._transport.asend(delete(path("agents", name)))


def _pairing(name: str | None, labels: Sequence[str], expires: float | timedelta) -> RemoteCall[RemoteNewToken]:
    fields: dict[str, Any] = {"labels": [*labels], "expires": seconds("expires", expires)}
    return post(path("agents", "pairings"), _read_pairing, fields if name is None else fields | {"name": name})


def _read_pairing(content: bytes) -> RemoteNewToken:
    pairing = words.read_pairing(content)
    token: Token = pairing.value()
    return RemoteNewToken(token, pairing.token)


def _list() -> Plan[list[Agent]]:
    return every(path("agents"), words.read_agents)


def _get(name: str) -> RemoteCall[Agent]:
    return get(path("agents", name), words.read_agent)


def _change(name: str, labels: Sequence[str] | None, enabled: bool | None) -> RemoteCall[Agent]:
    given: dict[str, Any] = {"labels": None if labels is None else [*labels], "enabled": enabled}
    fields = {word: value for word, value in given.items() if value is not None}
    return RemoteCall(method="PATCH", path=path("agents", name), read=words.read_agent, body=fields)
