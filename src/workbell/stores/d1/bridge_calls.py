"""Calls to a bridge: one request each, with a deadline. A read is sent again; a write never is."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx2
import msgspec

from workbell.errors import StoreError, StoreUnavailable
from workbell.process.fork_safety import remake_after_fork
from workbell.version import __version__

DEADLINE = 15.0  # seconds for a call; Cloudflare ends a query after 30
CONNECT = 5.0
PAUSES = (0.1, 0.4)  # seconds before a read is sent again
TOKEN = "WORKBELL_D1_TOKEN"  # noqa: S105  # the name of the variable

# Codes of the bridge; after the last ones, what was asked for may have been done.
CONFLICT, VERSION, SEARCH_OFF, UNSURE = "conflict", "version", "search_off", ("unavailable", "failed")
NO_TOKEN, NOT_FOUND, OK, TOO_LARGE = (401, 403), 404, 200, 413


class BridgeCalls:
    """One bridge, for all threads of a process. A forked child has connections of its own."""

    def __init__(self, base: str, token: str, *, loopback: bool, connections: int, deadline: float = DEADLINE) -> None:
        self.base = base
        self._token = token
        self._loopback = loopback  # what goes to this machine must not take the way through a proxy
        self._connections = connections
        self._deadline = deadline
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def health(self) -> dict[str, Any]:
        return self._again("GET", "/v1/health", None)

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._again("POST", "/v1/batch", body)

    def write(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer, or the conflict that the bridge found."""
        return self._call("POST", "/v1/batch", body)

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _again(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        for pause in PAUSES:
            try:
                return self._call(method, path, body)
            except StoreUnavailable as error:
                if isinstance(error, BridgeRefuses):
                    raise
                time.sleep(pause)
        return self._call(method, path, body)

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        content = None if body is None else msgspec.json.encode(body)
        end = time.monotonic() + self._deadline
        timeout = httpx2.Timeout(self._deadline, connect=min(CONNECT, self._deadline))
        try:
            with self._open().stream(method, self.base + path, content=content, timeout=timeout) as response:
                parts = []
                for part in response.iter_bytes():
                    parts.append(part)
                    if time.monotonic() > end:
                        raise httpx2.ReadTimeout("the answer took too long")
            return self._judge(response.status_code, b"".join(parts))
        except httpx2.TimeoutException:
            raise StoreUnavailable(
                f"{self.base}: no answer within {self._deadline:g} s; see whether the bridge is up, and repeat."
            ) from None
        except httpx2.HTTPError as error:
            said = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
            raise StoreUnavailable(
                f"{self.base}: the connection failed ({said}); see whether the bridge is up, then repeat the call."
            ) from None

    def _judge(self, status: int, content: bytes) -> dict[str, Any]:
        answer = _decoded(content)
        code = answer.get("code")
        said = str(answer.get("message", "")).rstrip(".")
        if status == OK and "code" not in answer and answer:
            return answer
        if code == CONFLICT:
            return answer
        if code == SEARCH_OFF:
            raise StoreError(
                f"{self.base}: lists and searches of runs are switched off in the bridge; set its variable SEARCH to "
                '"on" in wrangler.jsonc and deploy it.'
            )
        if status in NO_TOKEN:
            raise BridgeRefuses(
                f"{self.base}: the bridge refuses the token (HTTP {status}); set {TOKEN} to the secret TOKEN or "
                "TOKEN_BEFORE of the Worker."
            )
        if code == VERSION:
            raise BridgeRefuses(
                f"{self.base}: the bridge is of Workbell {answer.get('version')} and does not know the queries of this "
                f"one, {__version__}; run `workbell bridge write DIR` with this version and deploy it."
            )
        if status == NOT_FOUND:
            raise BridgeRefuses(f"{self.base}: no bridge answers there (HTTP 404); see the URL, or deploy the bridge.")
        if status == TOO_LARGE:
            raise StoreError(f"{self.base}: the call is larger than the bridge takes; hand in less at once.")
        if code is not None and code not in UNSURE:
            raise StoreError(f"{self.base}: the bridge refused a batch ({code}: {said}); see its log and its version.")
        raise StoreUnavailable(f"{self.base}: HTTP {status}{': ' if said else ''}{said}; repeat the call.")

    def _open(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(
                    headers={
                        "authorization": f"Bearer {self._token}",
                        "content-type": "application/json",
                        "user-agent": f"workbell/{__version__}",
                    },
                    limits=httpx2.Limits(
                        max_connections=self._connections, max_keepalive_connections=self._connections
                    ),
                    trust_env=not self._loopback,
                    verify=not self.base.startswith("http://"),
                )
            return self._client


class BridgeRefuses(StoreUnavailable):
    """The bridge is there and cannot be used as it is: wrong token, wrong version, wrong address.

    Not available, rather than an error of the batch: what workers have in hand waits until it is mended.
    """


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError:  # a page of Cloudflare's own, for people
        return {}
    return found if isinstance(found, dict) else {}
