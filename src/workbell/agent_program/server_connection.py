"""HTTP connection to the server: each request once, with a deadline; gives an answer or raises one of our errors.

A refusal is believed only as a problem document of Workbell's own. Whatever else answers, with whatever status, is
a proxy in between, and the request is to be sent again later.
"""

from __future__ import annotations

import ssl
from typing import Any

import httpx2
import msgspec

from workbell.errors import (
    AgentExists,
    AgentNotFound,
    Forbidden,
    LeaseLost,
    RunNotFound,
    ServiceUnavailable,
    TooMany,
    Unauthorized,
    WorkbellError,
)
from workbell.remote.problems import problem_of

PREFIX = "/api/v1"
DEADLINE = 15.0  # seconds for an answer, beyond what a long poll waits
CONNECT = 10.0
LARGEST = 64 * 1024 * 1024


class Refused(WorkbellError):
    """The server refuses the request for good: sending it again cannot help."""


REFUSALS: dict[str, type[WorkbellError]] = {
    kind.__name__: kind
    for kind in (Unauthorized, Forbidden, AgentNotFound, AgentExists, RunNotFound, LeaseLost, TooMany)
} | dict.fromkeys(("InvalidRequest", "InvalidOption", "InvalidPayload", "TooLarge"), Refused)
"""Errors by the problem's name. Others, such as those of a newer server, are not final: try again later."""


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
    """The answer as plain values; raises the error that it is otherwise."""
    url, status = response.request.url, response.status_code
    if 200 <= status < 300:
        try:
            return msgspec.json.decode(response.content)
        except msgspec.DecodeError as error:
            raise ServiceUnavailable(f"{url}: the answer is no JSON; is this a Workbell?") from error
    content_type = response.headers.get("content-type", "")
    problem = problem_of(content_type, response.content)
    if problem is None:
        raise ServiceUnavailable(
            f"{url}: status {status} came with {content_type[:60] or 'nothing'}, which is no answer of Workbell; "
            "check what stands in between."
        )
    raise REFUSALS.get(problem.name, ServiceUnavailable)(problem.detail[:500] or f"{url} answered {status}.")


class ServerConnection:
    """Requests from the agent's event loop."""

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


class ThreadConnection:
    """Requests from a separate thread: heartbeats, which no handler must delay."""

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
