"""Answers that need no token are made once, or once a second, so that strangers cannot spend the server's time."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from workbell.client.local import LocalClient
from workbell.errors import StoreError
from workbell.http.framework.compression import CompressedOnce
from workbell.http.framework.problems import log_failure
from workbell.stores.port import Store

READY_FOR = 1.0  # seconds for which an answer about the store holds
MOST_PAGES = 10  # a page is made again for each path that the service is mounted at


class CachedPage(NamedTuple):
    """A page that never changes, with its headers."""

    body: CompressedOnce
    headers: dict[str, str]


class CachedPages:
    """Pages by name, each made once on a thread."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._lock = asyncio.Lock()
        self._pages: dict[str, CachedPage] = {}

    async def answer(self, request: Request, name: str, make: Callable[[], Response]) -> Response:
        """The page of this name; `make` makes it, which may take a second, the first time."""
        found = self._pages.get(name)
        if found is None:
            async with self._lock:
                found = self._pages.get(name) or await self._make(name, make)
        return found.body.answer(request, found.headers)

    async def _make(self, name: str, make: Callable[[], Response]) -> CachedPage:
        found = await self._client.runtime.hop(_cached, make)
        if len(self._pages) >= MOST_PAGES:
            self._pages.clear()
        self._pages[name] = found
        return found


def _cached(make: Callable[[], Response]) -> CachedPage:
    answer = make()
    kept = {name: value for name, value in answer.headers.items() if name not in ("content-length", "content-type")}
    return CachedPage(CompressedOnce.make(bytes(answer.body), answer.media_type or ""), kept)


class CachedReadiness:
    """Whether the store answers and has the right schema, asked at most once a second."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._lock = asyncio.Lock()
        self._asked_at = -math.inf
        self._trouble: StoreError | None = None

    async def trouble(self) -> StoreError | None:
        """Why the store cannot be used; none: it can. Simultaneous requests share one question."""
        async with self._lock:
            if time.monotonic() - self._asked_at >= READY_FOR:
                self._trouble = await self._ask(self._client.store)
                self._asked_at = time.monotonic()
            return self._trouble

    async def _ask(self, store: Store) -> StoreError | None:
        try:
            await self._client.runtime.hop(_check, store)
        except StoreError as error:
            log_failure(error)
            return error
        return None


def _check(store: Store) -> None:
    store.check()
    store.runs.next_due()
