"""HTTP connection to the server: each request once, with a deadline; gives an answer or raises one of our errors.

A refusal is believed only as a problem document of Workbell's own. Whatever else answers, with whatever status, is
a proxy in between, and the request is to be sent again later: the caller's backoff says when.
"""

from __future__ import annotations

import ssl
from typing import TypeVar

from workbell.agent_program.refusals import refusal_class
from workbell.errors import ServiceUnavailable
from workbell.remote.address import Address
from workbell.remote.call import RemoteCall, Reply, sending
from workbell.remote.pool import Broken, Pool, Transport
from workbell.remote.problems import read

T = TypeVar("T")

DEADLINE = 15.0  # seconds for an answer, beyond what a long poll waits
CONNECT = 10.0  # seconds for a connection


class ServerConnection:
    """Requests from the agent's event loop (`asend`), and from other threads (`send`), which no handler delays."""

    def __init__(
        self,
        address: Address,
        token: str | None,
        *,
        tls: ssl.SSLContext | None = None,
        transport: Transport | None = None,
    ) -> None:
        self.address = address
        self._pool = Pool(
            address, token, connect=CONNECT, read=DEADLINE, tls=tls, transport=transport, program="workbell-agent"
        )

    def send(self, call: RemoteCall[T]) -> T:
        try:
            reply = self._pool.exchange(sending(call, self.address.base))
        except Broken as error:
            raise self._unreached(error) from None
        return self._answer(call, reply)

    async def asend(self, call: RemoteCall[T]) -> T:
        try:
            reply = await self._pool.aexchange(sending(call, self.address.base))
        except Broken as error:
            raise self._unreached(error) from None
        return self._answer(call, reply)

    def close(self) -> None:
        """Close the connections of threads; those of an event loop can be closed only there: see `aclose`."""
        self._pool.close()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    def _answer(self, call: RemoteCall[T], reply: Reply) -> T:
        return read(call, reply, self.address.shown, refusal_class)

    def _unreached(self, error: Broken) -> ServiceUnavailable:
        return ServiceUnavailable(f"{self.address.shown} could not be reached: {error}.")
