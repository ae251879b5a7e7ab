"""The line to the server: each post once, with a deadline; what it comes to is an answer or one of our errors."""

from __future__ import annotations

import ssl
from typing import Any

import httpx2
import msgspec

from workbell.errors import (
    Forbidden,
    LeaseLost,
    RunNotFound,
    ServiceUnavailable,
    TooMany,
    Unauthorized,
    WorkbellError,
)

PREFIX = "/api/v1"
DEADLINE = 15.0  # seconds for an answer, beyond what a long poll waits
CONNECT = 10.0
LARGEST = 64 * 1024 * 1024

REFUSED: dict[int, type[WorkbellError]] = {401: Unauthorized, 403: Forbidden, 404: RunNotFound, 409: LeaseLost}


class Refused(WorkbellError):
    """The server does not take what was sent: not as it is, and not later."""


def tls(ca_file: str | None) -> ssl.SSLContext:
    """Certificates are always checked; an authority of one's own may be added."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def headers(token: str, version: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "User-Agent": f"workbell-agent/{version}"}


def timeout(wait: float = 0.0) -> httpx2.Timeout:
    return httpx2.Timeout(DEADLINE + wait, connect=CONNECT)


def read(response: httpx2.Response) -> Any:
    """The answer as plain values; raises what it is if it is none."""
    status = response.status_code
    if status < 300:
        try:
            return msgspec.json.decode(response.content)
        except msgspec.DecodeError as error:
            raise ServiceUnavailable(f"{response.request.url}: the answer is no JSON; is this a Workbell?") from error
    detail = _detail(response)
    if status == 429:
        raise TooMany(detail)
    if status >= 500 or status in (408, 425):
        raise ServiceUnavailable(detail)
    raise REFUSED.get(status, Refused)(detail)


def _detail(response: httpx2.Response) -> str:
    try:
        told = msgspec.json.decode(response.content)
        return str(told["detail"])[:500]
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"{response.request.url} answered {response.status_code}."


class Line:
    """Posts from the agent's event loop."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def post(self, path: str, body: dict[str, Any], *, wait: float = 0.0) -> Any:
        try:
            response = await self._client.post(f"{PREFIX}{path}", json=body, timeout=timeout(wait))
        except (httpx2.HTTPError, OSError) as error:
            raise ServiceUnavailable(_unreached(error)) from error
        return read(response)

    async def close(self) -> None:
        await self._client.aclose()


class ThreadLine:
    """Posts from a thread of its own: heartbeats, which no handler must hold up."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def post(self, path: str, body: dict[str, Any]) -> Any:
        try:
            response = self._client.post(f"{PREFIX}{path}", json=body, timeout=timeout())
        except (httpx2.HTTPError, OSError) as error:
            raise ServiceUnavailable(_unreached(error)) from error
        return read(response)

    def close(self) -> None:
        self._client.close()


def _unreached(error: Exception) -> str:
    return f"The server could not be reached: {error or type(error).__name__}."
