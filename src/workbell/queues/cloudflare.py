"""Queue adapter for Cloudflare Queues over its REST API: `cloudflare-queue://ACCOUNT/QUEUE`.

Sending works whatever consumes the queue; receiving needs an HTTP pull consumer. There is no long poll: an empty queue
is asked again once a second. What a Worker consumes is pushed to `POST /consume` instead (stores/d1/bridge/queue.mjs).
"""

from __future__ import annotations

import base64
import binascii
import logging
import math
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2
import msgspec

from workbell.errors import InvalidUrl, QueueUnavailable, UnknownMessage
from workbell.process.fork_safety import remake_after_fork
from workbell.queues.message import decode, encode
from workbell.queues.port import Permit, Sent
from workbell.remote.address import UrlWords, address_of, check_token
from workbell.version import __version__

log = logging.getLogger("workbell.queues")

T = TypeVar("T")

TOKEN = "WORKBELL_CLOUDFLARE_TOKEN"  # noqa: S105  # the name of the variable
API = "https://api.cloudflare.com/client/v4"
EXAMPLE = "cloudflare-queue://ACCOUNT_ID/QUEUE"
DEADLINE, CONNECT = 10.0, 5.0  # seconds for a call
PACE = 1.0  # seconds between two pulls of an empty queue: about a dollar a month and worker
BATCH = 100  # messages of a call; a message has about 70 bytes, of 256 KB that a call may have
AT_ONCE = 4  # calls that send: with 0.1 s for each, that stays below the 5,000 messages a second of a queue
HIDDEN_MS = 60_000  # how long a message that was pulled is nobody else's; permits are answered within moments
LONGEST_DELAY = 43_200  # seconds
PAGES = 100  # of queues, when one is looked up by its name: an account may have 10,000
SILENT = 60.0  # seconds between two warnings about messages that cannot be read
_ID = re.compile(r"[0-9a-f]{32}\Z")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}\Z")


def open_url(url: str) -> CloudflareQueue:
    """The queue that a URL names. Connects to nothing yet."""
    parts = urlsplit(url)
    account, queue = parts.netloc, parts.path.removeprefix("/")
    if "@" in account:
        raise InvalidUrl(f"The queue's URL has a name or a password in it; leave it out, and set {TOKEN}.")
    if not _NAME.match(account) or not _NAME.match(queue):
        raise InvalidUrl(f"The queue's URL must be {EXAMPLE}, where QUEUE is the name or the id of the queue.")
    options = dict(parse_qsl(parts.query))
    api = options.pop("api", API)
    if options or parts.fragment:
        raise InvalidUrl(f"{EXAMPLE} takes nothing more, except ?api=http://127.0.0.1:PORT for a stand-in in tests.")
    token = os.environ.get(TOKEN)
    if not token:
        raise InvalidUrl(f"{account}/{queue}: no token; set {TOKEN} to an API token that may edit Queues.")
    check_token(token)
    try:
        address = address_of(api, words=UrlWords("API", f"set {TOKEN}", None))
    except InvalidUrl as error:
        raise InvalidUrl(f"api: {error}") from None
    return CloudflareQueue(account, queue, token, address.shown, loopback=address.loopback)


class CloudflareQueue:
    """One queue of an account. Messages do not name our queues, so a worker that serves some of them may be woken for
    a run of another; whoever serves that finds it at the next poll."""

    def __init__(
        self, account: str, queue: str, token: str, api: str = API, *, loopback: bool = False, pace: float = PACE
    ) -> None:
        self._account = account
        self._queue = queue
        self._token = token
        self._api = api
        self._loopback = loopback
        self._pace = pace
        self._id = queue if _ID.match(queue) else None
        self._silent_until = 0.0
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._interrupted = threading.Event()

    # Queue

    def send(self, sent: Sequence[Sent]) -> None:
        parts = [*_parts(sent)]
        if len(parts) <= 1:
            for part in parts:
                self._send(part)
            return
        with ThreadPoolExecutor(min(len(parts), AT_ONCE), thread_name_prefix="workbell-send") as threads:
            for _ in threads.map(self._send, parts):
                pass

    def _send(self, part: Sequence[Sent]) -> None:
        bodies = [msgspec.Raw(encode(one.run).encode()) for one in part]
        self._call("batch", {"messages": [{"body": body, "content_type": "json"} for body in bodies]})

    def receive(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
        end = time.monotonic() + wait
        while True:
            answer = self._call("pull", {"batch_size": min(most, BATCH), "visibility_timeout_ms": HIDDEN_MS})
            permits = self._permits(answer, named=queues is None)
            left = end - time.monotonic()
            if permits or left <= 0 or self._interrupted.wait(min(left, self._pace)):
                self._interrupted.clear()
                return permits

    def ack(self, receipts: Sequence[str]) -> None:
        for part in _parts(receipts):
            self._call("ack", {"acks": [{"lease_id": receipt} for receipt in part]})

    def give_back(self, receipts: Sequence[str], delay: float) -> None:
        seconds = min(math.ceil(delay), LONGEST_DELAY)
        for part in _parts(receipts):
            self._call("ack", {"retries": [{"lease_id": receipt, "delay_seconds": seconds} for receipt in part]})

    def interrupt(self) -> None:
        self._interrupted.set()

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    # Messages

    def _permits(self, answer: Any, *, named: bool) -> list[Permit]:
        """Permits of the messages that can be read. Others are not acknowledged: a newer Workbell may know them, and
        in the end Cloudflare moves them to the dead letter queue."""
        listed = answer.get("messages") if isinstance(answer, dict) else answer
        permits = []
        for message in listed or ():
            try:
                run = decode(_text(message["body"]))
            except UnknownMessage as error:
                self._warn(error)
            else:
                permits.append(Permit(run if named else None, message["lease_id"]))
        return permits

    def _warn(self, error: UnknownMessage) -> None:
        if time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + SILENT
            log.warning("queue %s: %s It is not acknowledged.", self._queue, error)

    # Calls

    def _call(self, verb: str, body: Any) -> Any:
        if self._id is None:
            self._id = self._find_id()
        return self._ask("POST", f"/queues/{self._id}/messages/{verb}", body)

    def _find_id(self) -> str:
        """The id of the queue by its name."""
        for page in range(1, PAGES + 1):
            found = self._ask("GET", f"/queues?page={page}&per_page={BATCH}", None) or []
            for one in found:
                if one.get("queue_name") == self._queue:
                    return str(one["queue_id"])
            if len(found) < BATCH:
                break
        raise QueueUnavailable(
            f"Account {self._account} has no queue {self._queue!r}; make it: npx wrangler queues create {self._queue}."
        )

    def _ask(self, method: str, path: str, body: Any) -> Any:
        url = f"{self._api}/accounts/{quote(self._account)}{path}"
        content = None if body is None else msgspec.json.encode(body)
        try:
            response = self._open().request(method, url, content=content)
        except httpx2.HTTPError as error:
            said = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
            raise QueueUnavailable(f"{self._api}: no answer ({said}); it is tried again.") from None
        return self._judge(response.status_code, response.content)

    def _judge(self, status: int, content: bytes) -> Any:
        try:
            answer = msgspec.json.decode(content)
        except msgspec.DecodeError:  # a page for people
            answer = {}
        if not isinstance(answer, dict):
            answer = {}
        if status < 300 and answer.get("success"):
            return answer.get("result")
        errors = [error for error in answer.get("errors") or () if isinstance(error, dict)]
        said = "; ".join(f"{error.get('message')} (code {error.get('code')})" for error in errors)[:300]
        told = f"HTTP {status}{': ' if said else ''}{said}"
        if status in (401, 403):
            raise QueueUnavailable(
                f"Cloudflare refuses the token for account {self._account} ({told}); set {TOKEN} to an API token of "
                "that account with the permission Queues Edit, and see that the account has Queues."
            )
        if 400 <= status < 500 and status != 429:
            raise QueueUnavailable(
                f"Cloudflare refuses a call to queue {self._queue} ({told}); see that it is there, and has an HTTP "
                f"pull consumer if workers receive from it: npx wrangler queues consumer http add {self._queue}."
            )
        raise QueueUnavailable(f"Cloudflare cannot answer now ({told}); it is tried again.")

    def _open(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(
                    headers={
                        "authorization": f"Bearer {self._token}",
                        "content-type": "application/json",
                        "user-agent": f"workbell/{__version__}",
                    },
                    timeout=httpx2.Timeout(DEADLINE, connect=CONNECT),
                    trust_env=not self._loopback,
                )
            return self._client


def _text(body: object) -> str | bytes:
    """The text of a message: as it is, or in base64, as JSON messages come."""
    if not isinstance(body, str):
        return msgspec.json.encode(body)
    if body.lstrip().startswith("{"):
        return body
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return body


def _parts(every: Sequence[T]) -> Iterator[Sequence[T]]:
    return (every[start : start + BATCH] for start in range(0, len(every), BATCH))
