"""A Workbell with some jobs, its API called within this process, and callers with a token for every role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from starlette.applications import Starlette

from tests.support.inside.values import Settings, TokenKind
from workbell import Context, Event, Workbell


def make_bell(url: str, folder: Path) -> Workbell:
    settings = Settings(url=url, storage=str(folder / "storage"), jobs=str(folder / "jobs"), http_log="problems")
    bell = Workbell(settings=settings)

    @bell.job
    def send(ctx: Context, to: str, urgent: bool = False) -> dict[str, str]:
        return {"sent": to}

    @bell.job(queue="slow")
    def rest() -> None: ...

    @bell.processor("count")
    def count(event: Event) -> dict[str, str]:
        return {"type": event.type}

    return bell


class Caller:
    """Calls with one token; `ask` says which status it expects."""

    def __init__(self, http: httpx2.AsyncClient, text: str | None) -> None:
        self.http = http
        self.text = text

    async def send(self, method: str, path: str, **options: Any) -> httpx2.Response:
        headers = {} if self.text is None else {"Authorization": f"Bearer {self.text}"}
        headers |= options.pop("headers", {})
        return await self.http.request(method, f"/api/v1{path}", headers=headers, **options)

    async def ask(self, method: str, path: str, wanted: int = 200, body: Any = None, **headers: str) -> Any:
        """The answer's value; `key=` is the Idempotency-Key, `match=` If-Match, `none_match=` If-None-Match."""
        sent = {HEADERS[word]: value for word, value in headers.items()}
        answer = await self.send(method, path, headers=sent, **({} if body is None else {"json": body}))
        assert answer.status_code == wanted, answer.text
        if wanted >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
        return answer.json() if answer.content else None

    async def etag(self, path: str) -> str:
        return (await self.send("GET", path)).headers["etag"]


HEADERS = {"key": "Idempotency-Key", "match": "If-Match", "none_match": "If-None-Match"}


class Api:
    """The API, and who calls it: those of tenant `a`, a stranger of tenant `b`, and one for all tenants."""

    def __init__(self, bell: Workbell, app: Starlette, http: httpx2.AsyncClient) -> None:
        self.bell = bell
        self.app = app
        self.http = http
        self.a = bell.for_tenant("a")
        self.nobody = Caller(http, None)
        self.reader = self.caller("read")
        self.maker = self.caller("enqueue")
        self.operator = self.caller("operate")
        self.admin = self.caller("admin")
        self.stranger = self.caller("admin", tenant="b")
        self.root = self.caller("admin", tenant="*")

    def caller(self, *scopes: str, tenant: str = "a", **options: Any) -> Caller:
        options = {"user_id": 7} | options
        return Caller(self.http, self.bell.tokens.create(str(scopes), scopes=scopes, tenant=tenant, **options).text)

    def session(self) -> str:
        """What the cookie of a browser holds."""
        return self.bell.tokens.create("s", scopes=["admin"], tenant="a", kind=TokenKind.SESSION, user_id=7).text


def fits(kind: Any, told: Any) -> None:
    """Raise if an answer does not have the form that the table of operations says."""
    msgspec.convert(told, kind)


@contextmanager
def served(url: str, folder: Path) -> Iterator[tuple[Workbell, Starlette]]:
    bell = make_bell(url, folder)
    try:
        yield bell, bell.asgi()
    finally:
        bell.runtime.close()
        bell.store.close()


@asynccontextmanager
async def opened(url: str, folder: Path) -> AsyncIterator[Api]:
    with served(url, folder) as (bell, app):
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as http,
        ):
            yield Api(bell, app, http)


@pytest.fixture
async def api(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Api]:
    async with opened(sqlite_url, tmp_path) as api:
        yield api
