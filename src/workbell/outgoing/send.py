"""Sending to URLs of users: read strictly, resolved once, checked; only checked addresses are connected to."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping

from workbell.errors import MissingPackage, SendFailed
from workbell.outgoing.allow import AllowList
from workbell.outgoing.answer import STORED_HEADERS, HttpAnswer, readable_start
from workbell.outgoing.failures import describe
from workbell.outgoing.headers import check_headers
from workbell.outgoing.permit import check_url
from workbell.outgoing.resolve import DEADLINE, Resolver, ask_system, resolve
from workbell.outgoing.target import Target

TIMEOUT = 15.0


class Sender:
    """Posts to URLs of users. It holds no connection, and costs nothing to make.

    `timeout` is for everything together, from the name to the last byte, however slowly the bytes come.
    """

    def __init__(
        self,
        *,
        allow: AllowList | None = None,
        resolver: Resolver = ask_system,
        timeout: float = TIMEOUT,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.allow = allow or AllowList()
        self.timeout = timeout
        self._resolver = resolver
        self._tls = tls

    def check(self, url: str) -> Target:
        """Refuse a URL that can never be sent to; quick, nothing is resolved."""
        return check_url(url, self.allow)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """The answer, whatever its status; a redirect is an answer like any other.

        EndpointRefused: nothing was sent, and the URL or the settings must change. SendFailed: a later try may succeed.
        """
        target = self.check(url)
        sent = {"user-agent": "Workbell"} | check_headers(headers or {})
        try:
            from workbell.outgoing import wire
        except ImportError as error:
            raise MissingPackage("Sending webhooks needs httpx2: pip install 'workbell[webhooks]'.") from error
        tls = self._tls or wire.default_tls()
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.timeout):
                addresses = await resolve(target, self.allow, self._resolver, min(DEADLINE, self.timeout))
                status, received, answer = await wire.request(target, addresses, body, sent, tls, self.timeout)
        except TimeoutError:
            raise SendFailed(f"{target.shown}: no complete answer came within {self.timeout:g} s.") from None
        except wire.FAILURES as error:
            raise SendFailed(f"{target.shown}: {describe(error)}.") from None
        return HttpAnswer(status, _stored_headers(received), readable_start(answer), time.monotonic() - started)


def _stored_headers(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    found = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    return {name: readable_start(value[:200].encode()) for name, value in found if name in STORED_HEADERS}
