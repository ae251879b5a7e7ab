"""Methods of the one-shot calls, over HTTP: the server does a round, and the answer says what it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbell.model.one_shot import Consumed, Dispatched
from workbell.queues.message import VERSION
from workbell.remote import readers
from workbell.remote.call import RemoteCall, path, post
from workbell.remote.transport import ServiceTransport

_read_dispatched, _read_consumed = readers.plain(Dispatched), readers.plain(Consumed)

DISPATCH_WAIT = 60.0  # seconds beyond the usual: a round looks twice for workers that are gone
END_WAIT = 15.0  # seconds beyond those of the work: to hand back and to book


class RemoteRounds:
    """The part of a client that has the server do one round. Each needs a token of its own scope, for all tenants."""

    transport: ServiceTransport

    def dispatch(self, *, limit: int | None = None) -> Dispatched:
        """Have the server do one round of what is due, up to `limit` (500) of each kind."""
        return self.transport.send(_dispatch(limit))

    async def adispatch(self, *, limit: int | None = None) -> Dispatched:
        return await self.transport.asend(_dispatch(limit))

    def consume(
        self, *, runs: Sequence[str] | None = None, limit: int | None = None, seconds: float = 50.0
    ) -> Consumed:
        """Have the server execute these runs, or up to `limit` (20) that it chooses; what became of each."""
        return self.transport.send(_consume(runs, limit, seconds))

    async def aconsume(
        self, *, runs: Sequence[str] | None = None, limit: int | None = None, seconds: float = 50.0
    ) -> Consumed:
        return await self.transport.asend(_consume(runs, limit, seconds))


def _dispatch(limit: int | None) -> RemoteCall[Dispatched]:
    return post(path("dispatch"), _read_dispatched, {} if limit is None else {"limit": limit}, patience=DISPATCH_WAIT)


def _consume(runs: Sequence[str] | None, limit: int | None, seconds: float) -> RemoteCall[Consumed]:
    body: dict[str, Any] = {"seconds": seconds}
    if runs is not None:
        body |= {"version": VERSION, "runs": [*runs]}
    if limit is not None:
        body["limit"] = limit
    return post(path("consume"), _read_consumed, body, patience=seconds + END_WAIT)
