"""The line to the server: each post once, with a deadline; what it comes to is an answer or one of our errors.

A refusal is believed only as a problem document of Workbell's own. Whatever else answers, with whatever status, is
something that stands in between, and what was posted is to be posted again later.
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
    """The server does not take what was sent: not as it is, and not later."""


REFUSALS: dict[str, type[WorkbellError]] = {
    kind.__name__: kind
    for kind in (Unauthorized, Forbidden, AgentNotFound, AgentExists, RunNotFound, LeaseLost, TooMany)
} | dict.fromkeys(("InvalidRequest", "InvalidOption", "InvalidPayload", "TooLarge"), Refused)
"""By the name of the problem. What is not listed, also what a newer server may tell, is not final: later again."""


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
