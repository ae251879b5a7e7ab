"""Connection pools of `workbell.Client` and of the agent, the only file of these that knows httpx2.

A pool has a client for sync code, and one for each event loop of async code.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import httpx2

from workbell.errors import InvalidOption, InvalidUrl, WorkbellError
from workbell.process.fork_safety import remake_after_fork
from workbell.remote.address import Address
from workbell.remote.call import Reply, Sending
from workbell.version import __version__

Transport = httpx2.BaseTransport | httpx2.AsyncBaseTransport


class Broken(Exception):
    """No answer came: the name, the connection, TLS or the answer itself failed, or the time was over."""


class Pool:
    """Connections to one service. In a forked child there are none yet: two processes must not share one."""

    def __init__(
        self,
        address: Address,
        token: str | None,
        *,
        connect: float,
        read: float,
        tls: ssl.SSLContext | None = None,
        transport: Transport | None = None,
        program: str = "workbell",
    ) -> None:
        try:
            httpx2.URL(address.base)
        except httpx2.InvalidURL as error:
            raise InvalidUrl(f"{address.shown[:60]!r} cannot be used: {error}.") from None
        self._token = token
        self._user_agent = f"{program}/{__version__}"
        self._connect, self._read = connect, read
        self._transport = transport
        self._plain = address.base.startswith("http://")
        self._trust = not address.loopback  # what goes to this machine itself must not take a way through a proxy
        self._tls = tls
        self._closed = False
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._lock = threading.Lock()
        self._sync: httpx2.Client | None = None
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()

    def exchange(self, sending: Sending) -> Reply:
        client = self._sync_client()
        with _troubles():
            return _reply(client.send(self._request(client, sending)))

    async def aexchange(self, sending: Sending) -> Reply:
        client = self._async_client()
        with _troubles():
            return _reply(await client.send(self._request(client, sending)))

    def close(self) -> None:
        """Let go of the connections. Those of event loops can be closed only there: see `aclose`."""
        with self._lock:
            self._closed = True
            client, self._sync = self._sync, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        self.close()
        client = self._async.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _request(self, client: httpx2.Client | httpx2.AsyncClient, sending: Sending) -> httpx2.Request:
        own = {"accept": "application/json", "user-agent": self._user_agent}
        if self._token is not None:
            own["authorization"] = f"Bearer {self._token}"
        timeout = httpx2.Timeout(self._read + sending.patience, connect=self._connect, pool=self._connect)
        try:
            return client.build_request(
                sending.method,
                sending.url,
                params=dict(sending.query),
                headers=own | dict(sending.headers),
                content=sending.content,
                timeout=timeout,
            )
        except httpx2.InvalidURL as error:  # the address was checked: a name or a filter is too long
            raise InvalidOption(f"A name or a filter cannot be sent in a URL: {error}.") from None

    def _sync_client(self) -> httpx2.Client:
        with self._lock:
            self._check_open()
            if self._sync is None:
                transport = self._transport
                if transport is not None and not isinstance(transport, httpx2.BaseTransport):
                    raise InvalidOption("transport: this one is for async code only; use the verbs with an `a`.")
                self._sync = httpx2.Client(transport=transport, trust_env=self._trust, verify=self._verify())
            return self._sync

    def _async_client(self) -> httpx2.AsyncClient:
        self._check_open()
        loop = asyncio.get_running_loop()
        client = self._async.get(loop)
        if client is None:
            transport = self._transport
            if transport is not None and not isinstance(transport, httpx2.AsyncBaseTransport):
                raise InvalidOption("transport: this one is for sync code only; use the verbs without an `a`.")
            client = httpx2.AsyncClient(transport=transport, trust_env=self._trust, verify=self._verify())
            self._async[loop] = client
        return client

    def _verify(self) -> ssl.SSLContext | bool:
        """How certificates are checked. To read those of the authorities takes a while: once, and only if needed."""
        if self._plain or self._transport is not None:
            return False  # there are none, or not here; nothing is sent anywhere else: redirects are not followed
        if self._tls is None:
            self._tls = httpx2.create_ssl_context(trust_env=self._trust)
        return self._tls

    def _check_open(self) -> None:
        if self._closed:
            raise WorkbellError("This Client is closed; make another one.")


def trusting(ca_file: str) -> ssl.SSLContext:
    """TLS that checks certificates as ever, and lets the authority in this file vouch for them too."""
    context = httpx2.create_ssl_context()
    context.load_verify_locations(ca_file)
    return context


@contextmanager
def _troubles() -> Iterator[None]:
    try:
        yield
    except httpx2.TimeoutException as error:
        raise Broken("no connection in time" if _connecting(error) else "no answer in time") from None
    except (httpx2.HTTPError, OSError) as error:
        raise Broken(_reason(error)) from None


def _connecting(error: Exception) -> bool:
    return isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    what = "no connection" if isinstance(error, httpx2.ConnectError) else "the connection broke"
    return f"{what} ({text})" if text else what


def _reply(response: httpx2.Response) -> Reply:
    headers = response.headers
    return Reply(response.status_code, headers.get("content-type", ""), headers.get("retry-after"), response.content)
