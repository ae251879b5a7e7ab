"""`workbell.Client(url, token)`: HTTP client with the methods of Workbell."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from workbell.errors import InvalidOption, MissingPackage
from workbell.model.clock import seconds
from workbell.model.job import name
from workbell.model.request import EnqueueOptions
from workbell.model.run import Run
from workbell.remote import made
from workbell.remote.access import RemoteAudit, RemoteTenants, RemoteTokens
from workbell.remote.address import address_of, check_token
from workbell.remote.agents import RemoteAgents
from workbell.remote.call import Plan, RemoteCall, path, post
from workbell.remote.control import RemoteSteering
from workbell.remote.emitting import RemoteEmitting
from workbell.remote.events import RemoteEvents
from workbell.remote.executions import RemoteExecuting
from workbell.remote.jobs import RemoteJobs
from workbell.remote.notifications import RemoteNotifications
from workbell.remote.options import RemoteRequest, pages, request
from workbell.remote.pauses import RemotePausing
from workbell.remote.rounds import RemoteRounds
from workbell.remote.schedules import RemoteSchedules
from workbell.remote.transport import ServiceTransport
from workbell.remote.triggers import RemoteTriggers
from workbell.remote.webhooks import RemoteWebhooks

if TYPE_CHECKING:
    from workbell.remote.pool import Transport

CONNECT, READ = 5.0, 30.0

Requested = RemoteRequest | tuple[str, dict[str, Any]]


class Client(RemoteSteering, RemotePausing, RemoteEmitting, RemoteExecuting, RemoteRounds):
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

    def _open(self, transport: ServiceTransport) -> None:
        self.transport = transport
        self.jobs = RemoteJobs(transport)
        self.schedules = RemoteSchedules(transport)
        self.triggers = RemoteTriggers(transport)
        self.events = RemoteEvents(transport)
        self.webhooks = RemoteWebhooks(transport)
        self.notifications = RemoteNotifications(transport)
        self.agents = RemoteAgents(transport)
        self.tokens = RemoteTokens(transport)
        self.tenants = RemoteTenants(transport)
        self.audit = RemoteAudit(transport)

    def for_tenant(self, tenant: str) -> Client:
        """The same verbs for another tenant, over the same connections; for a token of all tenants."""
        other = Client.__new__(Client)
        other._open(
            ServiceTransport(self.transport.address, self.transport.pool, name("tenant", tenant, InvalidOption))
        )
        return other

    # Enqueue

    def request(
        self, job: str, payload: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]
    ) -> RemoteRequest:
        """A request for `enqueue_many`; nothing is sent yet."""
        return request(job, payload, options)

    def enqueue(self, job: str, payload: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> Run:
        """Have a job run by a worker, by its name: `client.enqueue("send", {"to": "a@b.c"}, delay=60)`."""
        return self.transport.send(_enqueue(request(job, payload, options), self.transport.tenant))

    async def aenqueue(self, job: str, payload: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> Run:
        return await self.transport.asend(_enqueue(request(job, payload, options), self.transport.tenant))

    def enqueue_many(self, requests: Iterable[Requested]) -> list[Run]:
        """Enqueue many runs: `client.enqueue_many(("send", {"to": a}) for a in addresses)`.

        Each thousand (each hundred, where there are keys) is one request and one transaction; should a later one fail,
        the earlier ones are there.
        """
        return self.transport.follow(_enqueue_many([_as_request(one) for one in requests], self.transport.tenant))

    async def aenqueue_many(self, requests: Iterable[Requested]) -> list[Run]:
        return await self.transport.afollow(
            _enqueue_many([_as_request(one) for one in requests], self.transport.tenant)
        )

    # End

    def close(self) -> None:
        """Let go of the connections; those that async verbs made are closed by `aclose`."""
        self.transport.pool.close()

    async def aclose(self) -> None:
        """Let go of the connections, also of those of this event loop."""
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
            f"enqueue_many: {type(one).__name__} is no request; give (job, payload), or client.request(job, …)."
        )
    return request(one[0], one[1] if len(one) == 2 else None, {})


def _enqueue(asked: RemoteRequest, tenant: str | None) -> RemoteCall[Run]:
    return post(path("runs"), made.reader(asked, tenant), asked.body, full=True, **_tenant(asked))


def _enqueue_many(asked: Sequence[RemoteRequest], tenant: str | None) -> Plan[list[Run]]:
    runs: list[Run] = []
    for page in pages(asked):
        body = {"runs": [one.body for one in page]}
        read = made.readers(page, tenant)
        runs += yield post(path("runs", "batch"), read, body, full=True, **_tenant(page[0]))
    return runs


def _tenant(asked: RemoteRequest) -> dict[str, Any]:
    return {} if asked.tenant is None else {"tenant": asked.tenant}
