"""Shared state of all routes, and authentication of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import HTTPConnection, Request

from workbell.agents.long_polls import LongPolls
from workbell.agents.verbs import Agents
from workbell.client.local import LocalClient
from workbell.engine.one_shot import OneShot
from workbell.errors import Forbidden, InvalidOption, NotFound, TooMany, Unauthorized
from workbell.http.features.doctor_checks import Doctor
from workbell.http.features.enqueue_groups import EnqueueGroups
from workbell.http.features.hints import HintListener
from workbell.http.features.metrics import Metrics, RequestCounts
from workbell.http.framework.cached_answers import CachedPages, CachedReadiness
from workbell.http.framework.call import KNOWN, ApiCall, header_of
from workbell.http.policies.access_watch import AccessWatch, AuthHook, ask_hook
from workbell.http.policies.open_limits import OpenCounts
from workbell.http.policies.origins import allowed_hosts, host_is_allowed, origin_is_allowed
from workbell.http.policies.rate_limits import Buckets
from workbell.http.policies.session_cookie import SessionCookie
from workbell.http.sockets.hub import Hub
from workbell.http.sockets.tickets import TicketRates
from workbell.job_files.job_folder import JobFolder
from workbell.model.access import EVERY_TENANT, Access, Scope
from workbell.model.audit import ActorKind
from workbell.model.client_address import TrustedProxies, network_of
from workbell.model.job import name as checked_name
from workbell.model.public_url import read_public_url
from workbell.notices.bus import Bus
from workbell.process.verb_threads import on_own_thread
from workbell.settings import Settings

T = TypeVar("T")


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
MOST_CLIENTS = 10_000
FAILURES = 10.0  # a second, of one client, with a token that is not valid; and 50 at once
EVERYTHING = frozenset({Scope.ADMIN})


class Service:
    """Shared state of the server: the Workbell, its settings, and what serves requests."""

    def __init__(
        self,
        client: LocalClient,
        settings: Settings,
        bus: Bus,
        jobs: JobFolder,
        one_shot: OneShot,
        *,
        auth: AuthHook | None = None,
        listen: str | None = None,
    ) -> None:
        self.client = client
        self.settings = settings
        self.bus = bus
        self.jobs = jobs
        self.one_shot = one_shot
        self.rounds = 0  # of work, for callers that wait for them
        self.auth = auth
        self._for_all = settings.http_auth == "none" and auth is None  # whom a hook does not know needs a token
        self.public = None if settings.http_public_url is None else read_public_url(settings.http_public_url)
        self.proxies = TrustedProxies.parse(settings.http_trusted_proxies)
        self.hosts = allowed_hosts(listen, settings.http_hosts, self.public)
        self.session_cookie = SessionCookie(self.public)
        self.verified = client.verified
        self.measured = RequestCounts()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin()
        self.metrics = Metrics(client, self.measured, lambda: len(self.hub))
        self._clients = {client.tenant: client}
        self._agents: dict[str, Agents] = {}
        self.ticket_rates = TicketRates()
        self._failures = Buckets(FAILURES, 5 * FAILURES)
        self._rates = Buckets(settings.http_rate, max(settings.http_rate, 1)) if settings.http_rate else None

    def _begin(self) -> None:
        self.stopping = asyncio.Event()
        self.enqueue_groups = EnqueueGroups(self.client)
        self.hint_listener = HintListener(self.client.store)
        self.waiting_agents = LongPolls(
            self.client.store, self.client.runtime.hop, self.hint_listener.listen, self.stopping
        )
        self.access_watch = AccessWatch(self.client, self.auth)
        self.pages = CachedPages(self.client)
        self.readiness = CachedReadiness(self.client)
        self.opened = OpenCounts()
        self.hub = Hub(self)
        self.doctor = Doctor()

    def be_here(self) -> None:
        """Serve on this event loop. An application may be started again on another one, as every test client does; then
        all that waits, which belongs to the loop before, is created again."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop is not None:
                self.begin_again()
            self._loop = loop

    def begin_again(self) -> None:
        """Create the state of the event loop again, after a stop or on another loop."""
        self.hint_listener.close()
        self.enqueue_groups.close(wait=False)
        self._begin()

    # Authentication

    async def admit(self, request: Request, scope: Scope | None, *, is_open: bool = False) -> ApiCall:
        """Authorise a request, or raise why not."""
        if is_open:
            self.check_host(request)
            return ApiCall(
                self, request, Access(actor="nobody", kind=ActorKind.ANYBODY), self.client.tenant, self.client
            )
        access = await self.access_of(request)
        request.scope[KNOWN] = True
        if scope is not None and not access.may(scope):
            raise Forbidden(f"This needs the scope {scope!s}, and {access.actor} has {_listed(access.scopes)}.")
        self.check_rate(access)
        tenant = self.tenant_of(request, access)
        return ApiCall(self, request, access, tenant, self.client_of(tenant))

    def check_rate(self, access: Access) -> None:
        """Rate-limit authenticated requests."""
        if self._rates is not None:
            wait = self._rates.take(access.token or access.actor, self.client.store.clock.monotonic())
            if wait:
                raise _too_many(f"{access.actor} may ask {self.settings.http_rate:g} times a second.", wait)

    async def access_of(self, connection: HTTPConnection) -> Access:
        """Authenticate the caller by token, by session cookie or by the app's own hook."""
        self.check_host(connection)
        if self.auth is not None:
            access = await ask_hook(self.auth, connection)
            if access is not None:
                self.check_origin(connection)
                return access
        text = bearer = _bearer(header_of(connection.scope, b"authorization"))
        if text is None:
            text = self.session_cookie.read(connection)
            if text is not None or self._for_all:
                self.check_origin(connection)  # a browser sends these by itself, whoever's page asks for it
        if text is None and self._for_all:
            return Access(tenant=EVERY_TENANT, scopes=EVERYTHING, user_id=0, kind=ActorKind.ANYBODY, actor="anybody")
        if text is None:
            raise Unauthorized("There is no token; send it as `Authorization: Bearer wb_…`.")
        access = await self.verified.aaccess(text)
        if access is None:
            self.count_failure(connection)
            raise Unauthorized("The token is not valid; it may have expired or been revoked.")
        if bearer is not None and access.kind is ActorKind.SESSION:
            self.count_failure(connection)
            raise Unauthorized(
                "This is the session of a browser, which is good in its cookie alone; make a token for the program "
                "with `workbell tokens create`."
            )
        return access

    def check_host(self, connection: HTTPConnection) -> None:
        """Refuse requests for a name that is not ours (DNS rebinding)."""
        if self.hosts and not host_is_allowed(header_of(connection.scope, b"host"), self.hosts):
            raise Forbidden(
                "The Host header names no host of this service; the settings http_hosts and http_public_url name them."
            )

    def count_failure(self, connection: HTTPConnection) -> None:
        """Rate limit of tokens that are not valid, for each client. It is asked after the token was found invalid: a
        valid one is never refused because of others behind the same address."""
        network = network_of(None if connection.client is None else connection.client.host)
        wait = self._failures.take(network, self.client.store.clock.monotonic())
        if wait:
            raise _too_many("Too many requests without a valid token came from this address.", wait)

    def check_origin(self, connection: HTTPConnection) -> None:
        """Refuse requests that a page of another site sends (CSRF)."""
        if connection.scope.get("method", "GET") in SAFE and connection.scope["type"] == "http":
            return
        headers = connection.headers
        origin = headers.get("origin")
        if origin is None and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise self.foreign_page()
        if not origin_is_allowed(origin, headers.get("host"), self.hosts, self.public):
            raise self.foreign_page()

    def foreign_page(self) -> Forbidden:
        own = "this service's own pages" if self.public is None else f"pages of {self.public.origin} (http_public_url)"
        return Forbidden(f"A page of another site sent this; only {own} may.")

    # Tenants

    def tenant_of(self, request: HTTPConnection, access: Access) -> str:
        """The tenant that a request is for: the caller's, or one that it names and may act for."""
        named = request.query_params.get("tenant") if request.scope["query_string"] else None
        own = self.home_of(access)
        if named is None or named == own:
            return own
        if named == EVERY_TENANT:
            raise InvalidOption("tenant: `*` stands for all of them, and a call is for one; name it.")
        if not access.may_act_for(named):
            raise NotFound(f"There is no tenant {named[:40]!r} here.")
        return checked_name("tenant", named, InvalidOption)

    def home_of(self, access: Access) -> str:
        """The tenant of a caller that names none."""
        return self.client.tenant if access.tenant == EVERY_TENANT else access.tenant

    def client_of(self, tenant: str) -> LocalClient:
        """The client of a tenant."""
        found = self._clients.get(tenant)
        if found is None:
            if len(self._clients) >= MOST_CLIENTS:
                self._clients, self._agents = {self.client.tenant: self.client}, {}
            found = self._clients[tenant] = self.client.for_tenant(tenant)
        return found

    def agents_of(self, client: LocalClient) -> Agents:
        """The verbs about agents of a client's tenant."""
        found = self._agents.get(client.tenant)
        if found is None:
            found = self._agents[client.tenant] = Agents(client.runtime, client.verified, self.settings.lease_span)
        return found

    # Waiting, which ends with the server

    async def pause(self, seconds: float) -> bool:
        """Sleep; whether the server stops."""
        return await self._until_stopped(asyncio.sleep(seconds))

    async def hint(self, seconds: float) -> bool:
        """Wait for a hint or a timeout; whether the server stops."""
        return await self._until_stopped(self.hint_listener.wait(seconds))

    async def _until_stopped(self, waiting: Coroutine[Any, Any, Any]) -> bool:
        await self.unless_stopped(waiting, None)
        return self.stopping.is_set()

    async def unless_stopped(self, waiting: Coroutine[Any, Any, T], otherwise: T, *ends: asyncio.Future[Any]) -> T:
        """The awaited result; `otherwise` as soon as the server stops, or one of these futures is done."""
        work = asyncio.ensure_future(waiting)
        stopped = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({work, stopped, *ends}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else otherwise
        finally:
            work.cancel()
            stopped.cancel()

    def stop(self) -> None:
        """End streams and sockets now."""
        self.stopping.set()
        self.hint_listener.close()

    async def close(self) -> None:
        """Close the service, after the last request."""
        self.stop()
        await on_own_thread("close", self.enqueue_groups.close)


def service_of(connection: HTTPConnection) -> Service:
    """The service behind the application that a request came to."""
    found: Service = connection.scope["app"].state.service
    return found


def _bearer(header: str | None) -> str | None:
    if header is None:
        return None
    kind, _, text = header.partition(" ")
    return text.strip() if kind.lower() == "bearer" else None


def _listed(scopes: frozenset[Scope]) -> str:
    return ", ".join(sorted(scopes)) or "none"


def _too_many(message: str, wait: float) -> TooMany:
    error = TooMany(f"{message} Ask again in {wait:.1f} s.")
    error.retry_after = max(1, round(wait))
    return error
