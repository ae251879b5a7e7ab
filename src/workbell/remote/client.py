"""`workbell.Client(url, token)`: HTTP client with the methods of Workbell."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Unpack

from workbell.errors import InvalidOption, MissingPackage
from workbell.model.clock import seconds
from workbell.model.job import name
from workbell.model.request import EnqueueOptions
from workbell.remote.address import address_of, check_token
from workbell.remote.following import FollowedEvents, WatchedRuns
from workbell.remote.options import RemoteRequest, request
from workbell.remote.plans.runs import PACE, enqueue_many
from workbell.remote.transport import ServiceTransport
from workbell.remote.verbs import ClientVerbs
from workbell.wire.runs import FoundRun, MadeRun

if TYPE_CHECKING:
    from workbell.remote.pool import Transport

CONNECT, READ = 5.0, 30.0

Requested = RemoteRequest | tuple[str, dict[str, Any]]


class Client(ClientVerbs):
    """The verbs of Workbell over HTTP: `client = Client("https://workbell.example.com", token)`.

    For one tenant: the token's own, or with a token of all tenants the one that is named. What is asked for and not
    answered is asked for again, and made once. Nothing is sent until the first verb.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        tenant: str | None = None,
        connect_timeout: float = CONNECT,
        timeout: float = READ,
        insecure: bool = False,
        tls: ssl.SSLContext | None = None,
        transport: Transport | None = None,
    ) -> None:
        address = address_of(url, insecure=insecure)
        try:
            from workbell.remote.pool import Pool
        except ImportError as error:
            raise MissingPackage("workbell.Client needs httpx2: pip install 'workbell[client]'.") from error
        pool = Pool(
            address,
            check_token(token),
            connect=_deadline("connect_timeout", connect_timeout),
            read=_deadline("timeout", timeout),
            tls=tls,
            transport=transport,
        )
        self._open(ServiceTransport(address, pool, None if tenant is None else name("tenant", tenant, InvalidOption)))
        self._owns_pool = True

    def _open(self, transport: ServiceTransport) -> None:
        self._owns_pool = False
        ClientVerbs.__init__(self, transport)
        self.runs: WatchedRuns = WatchedRuns(transport)
        self.events: FollowedEvents = FollowedEvents(transport)

    def for_tenant(self, tenant: str) -> Client:
        """The same verbs for another tenant, for a token of all tenants. The connections are shared, and end with this
        client."""
        other = Client.__new__(Client)
        other._open(
            ServiceTransport(self.transport.address, self.transport.pool, name("tenant", tenant, InvalidOption))
        )
        return other

    # Enqueue

    def request(
        self, job: str, input: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]
    ) -> RemoteRequest:
        """A request for `enqueue_many`; nothing is sent yet."""
        return request(job, input, options)

    def enqueue_many(self, requests: Iterable[Requested]) -> list[MadeRun]:
        """Enqueue many runs: `client.enqueue_many(("send", {"to": a}) for a in addresses)`.

        Each thousand (each hundred, where there are keys) is one request and one transaction; should a later one fail,
        the earlier ones are there.
        """
        return self.transport.follow(enqueue_many([_as_request(one) for one in requests]))

    async def aenqueue_many(self, requests: Iterable[Requested]) -> list[MadeRun]:
        return await self.transport.afollow(enqueue_many([_as_request(one) for one in requests]))

    # Watch

    def watch(self, run_id: str, *, pace: float = PACE) -> Iterator[FoundRun]:
        """A run as it is now, and again whenever it has changed, until it has ended; read every `pace` seconds."""
        return self.runs.watch(run_id, pace=pace)

    def awatch(self, run_id: str, *, pace: float = PACE) -> AsyncIterator[FoundRun]:
        """`watch` for async code: `async for run in client.awatch(run_id)`."""
        return self.runs.awatch(run_id, pace=pace)

    # End

    def close(self) -> None:
        """Let go of the connections; those that async verbs made are closed by `aclose`.

        A client of `for_tenant` has none of its own, and closes nothing.
        """
        if self._owns_pool:
            self.transport.pool.close()

    async def aclose(self) -> None:
        """Let go of the connections, also of those of this event loop."""
        if self._owns_pool:
            await self.transport.pool.aclose()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        """Without the token."""
        tenant = "" if self.transport.tenant is None else f", tenant={self.transport.tenant!r}"
        return f"Client({self.transport.address.shown!r}{tenant})"


def _deadline(word: str, value: float) -> float:
    found = seconds(word, value)
    if not found:
        raise InvalidOption(f"{word}: 0 seconds would be over before anything was sent; give more.")
    return found


def _as_request(one: Requested) -> RemoteRequest:
    if isinstance(one, RemoteRequest):
        return one
    if not isinstance(one, tuple) or len(one) not in (1, 2) or not isinstance(one[0], str):
        raise InvalidOption(
            f"enqueue_many: {type(one).__name__} is no request; give (job, input), or client.request(job, …)."
        )
    return request(one[0], one[1] if len(one) == 2 else None, {})
