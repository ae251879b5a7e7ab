"""Shared state of all routes, and authentication of requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import HTTPConnection, Request

from workbell.agents.long_polls import LongPolls
from workbell.client.local import LocalClient
from workbell.engine.one_shot import OneShot
from workbell.errors import Forbidden, InvalidOption, NotFound, TooMany, Unauthorized
from workbell.http.cached_answers import CachedPages, Readiness
from workbell.http.call import KNOWN, ApiCall
from workbell.http.doctor_checks import Doctor
from workbell.http.enqueueing import Enqueueing
from workbell.http.hints import HintListener
from workbell.http.metrics import Metrics
from workbell.http.open_limits import OpenCounts
from workbell.http.origins import allowed_hosts, host_is_allowed, origin_is_allowed
from workbell.http.rate_limits import Buckets
from workbell.http.request_counts import RequestCounts
from workbell.http.sockets.hub import Hub
from workbell.http.sockets.tickets import TicketRates
from workbell.http.tally_chart import TallyChart
from workbell.job_files.job_folder import JobFolder
from workbell.model.access import EVERY_TENANT, Access, Scope, access_of
from workbell.model.job import name as checked_name
from workbell.notices.bus import Bus
from workbell.settings import Settings

if TYPE_CHECKING:
    from workbell.http.routing import RouteGuard

T = TypeVar("T")

AuthHook = Callable[[HTTPConnection], Access | Awaitable[Access | None] | None]

COOKIE = "workbell_session"


def cookie_name(connection: HTTPConnection) -> str:
    """The cookie of a session here. Cookies know no ports, so its name has it: else two services on one machine would
    take each other's sessions away."""
    port = connection.headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isascii() and port.isdigit() else COOKIE


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
MOST_CLIENTS = 10_000
FAILURES = 10.0  # a second, of one address, that may come without a valid token; and 50 at once
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
        self.hosts = allowed_hosts(listen, settings.http_hosts)
        self.verified = client.verified
        self.measured = RequestCounts()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin()
        self.metrics = Metrics(client, self.measured, lambda: len(self.hub))
        self._clients = {client.tenant: client}
        self.ticket_rates = TicketRates()
        self._failures = Buckets(FAILURES, 5 * FAILURES)
        self._rates = Buckets(settings.http_rate, max(settings.http_rate, 1)) if settings.http_rate else None

    def _begin(self) -> None:
        self.stopping = asyncio.Event()
        self.enqueueing = Enqueueing(self.client)
        self.hint_listener = HintListener(self.client.store)
        self.waiting_agents = LongPolls(
            self.client.store, self.client.runtime.hop, self.hint_listener.listen, self.stopping
        )
        self.pages = CachedPages(self.client)
        self.readiness = Readiness(self.client)
        self.opened = OpenCounts()
        self.hub = Hub(self)
        self.tally_chart = TallyChart()
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
        self.enqueueing.close(wait=False)
        self._begin()

    # Authentication

    async def admit(self, request: Request, guard: RouteGuard) -> ApiCall:
        """Authorise a request, or raise why not."""
        if guard.open:
            await self.check_door(request)
            return ApiCall(self, request, Access(actor="nobody"), self.client.tenant, self.client)
        access = await self.access_of(request)
        request.scope[KNOWN] = True
        if guard.needs is not None and not access.may(guard.needs):
            raise Forbidden(f"This needs the scope {guard.needs!s}, and {access.actor} has {_listed(access.scopes)}.")
        if self._rates is not None:
            wait = self._rates.take(access.token or access.actor, time.monotonic())
            if wait:
                raise _too_many(f"{access.actor} may ask {self.settings.http_rate:g} times a second.", wait)
        tenant = self._tenant_of(request, access)
        return ApiCall(self, request, access, tenant, self.client_of(tenant))

    async def access_of(self, connection: HTTPConnection) -> Access:
        """Authenticate the caller by token, by session cookie or by the app's own hook."""
        headers = connection.headers
        if self.hosts and not host_is_allowed(headers.get("host"), self.hosts):
            raise Forbidden("The Host header names no host of this service; the setting http_hosts lists them.")
        if self.auth is not None:
            found = self.auth(connection)
            access = await found if isinstance(found, Awaitable) else found
            if access is not None:
                self.check_origin(connection)
                return access
        text = _bearer(headers.get("authorization"))
        if text is None:
            text = connection.cookies.get(cookie_name(connection)) if "cookie" in headers else None
            if text is not None or self._for_all:
                self.check_origin(connection)  # a browser sends these by itself, whoever's page asks for it
        if text is None and self._for_all:
            return Access(tenant=EVERY_TENANT, scopes=EVERYTHING, actor="anybody", user_id=0)
        if text is None:
            raise Unauthorized("There is no token; send it as `Authorization: Bearer wb_…`.")
        token = await self.verified.acheck(text)
        if token is None:
            self._count_failure(connection)
            raise Unauthorized("The token is not valid; it may have expired or been revoked.")
        return access_of(token)

    async def check_door(self, connection: HTTPConnection) -> None:
        """Rate-limit unauthenticated requests."""
        if self.hosts and not host_is_allowed(connection.headers.get("host"), self.hosts):
            raise Forbidden("The Host header names no host of this service; the setting http_hosts lists them.")
        self._count_failure(connection)

    def _count_failure(self, connection: HTTPConnection) -> None:
        address = connection.client.host if connection.client is not None else "nobody"
        wait = self._failures.take(address, time.monotonic())
        if wait:
            raise _too_many("Too many requests without a valid token came from this address.", wait)

    def check_origin(self, connection: HTTPConnection) -> None:
        """Refuse requests that a page of another site sends (CSRF)."""
        if connection.scope.get("method", "GET") in SAFE and connection.scope["type"] == "http":
            return
        headers = connection.headers
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Forbidden("A page of another site sent this; only this service's own pages may.")
        if not origin_is_allowed(headers.get("origin"), headers.get("host"), self.hosts):
            raise Forbidden("A page of another site sent this; only this service's own pages may.")

    # Tenants

    def _tenant_of(self, request: Request, access: Access) -> str:
        named = request.query_params.get("tenant") if request.scope["query_string"] else None
        own = self.client.tenant if access.tenant == EVERY_TENANT else access.tenant
        if named is None or named == own:
            return own
        if named == EVERY_TENANT:
            raise InvalidOption("tenant: `*` stands for all of them, and a call is for one; name it.")
        if not access.may_act_for(named):
            raise NotFound(f"There is no tenant {named[:40]!r} here.")
        return checked_name("tenant", named, InvalidOption)

    def client_of(self, tenant: str) -> LocalClient:
        """The client of a tenant."""
        found = self._clients.get(tenant)
        if found is None:
            if len(self._clients) >= MOST_CLIENTS:
                self._clients = {self.client.tenant: self.client}
            found = self._clients[tenant] = self.client.for_tenant(tenant)
        return found

    # Audit log

    async def note(self, call: ApiCall, action: str) -> None:
        """Write an operator's action to the audit log."""
        request = call.request
        subject = call.subject or "/".join(str(part) for part in request.path_params.values())
        detail: dict[str, Any] = {"method": request.method, "path": request.url.path}
        await call.client.runtime.hop(
            lambda: call.client.audit.add(
                action, subject, actor=call.access.actor, detail=detail, address=call.address, tenant=call.tenant
            )
        )

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

    async def unless_stopped(self, waiting: Coroutine[Any, Any, T], otherwise: T) -> T:
        """The awaited result; `otherwise` as soon as the server stops."""
        work = asyncio.ensure_future(waiting)
        stopped = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
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
        await asyncio.get_running_loop().run_in_executor(None, self.enqueueing.close)


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
