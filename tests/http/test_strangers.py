"""What strangers may ask for costs next to nothing, and tells them little; clients that leave are no error."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tests.http.conftest import Api
from tests.support.inside.features import verified
from tests.support.inside.http import cached_answers, front
from tests.support.inside.http import file_routes as files
from tests.support.inside.http import health_routes as health
from tests.support.waiting import until
from workbell import SchemaMismatch, StoreError, StoreUnavailable, __version__

pytestmark = pytest.mark.anyio


async def test_the_reference_and_the_openapi_page_are_made_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    for part, verb in ((health, "openapi"), (front, "openapi"), (front, "_body")):
        monkeypatch.setattr(part, verb, _counted(made, verb, getattr(part, verb)))
    for path in ("/docs", "/openapi.json"):
        answers = await asyncio.gather(*(api.http.get(path) for _ in range(5)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
    assert made.count("_body") == 1
    assert made.count("openapi") == 2, "once for each of the two"
    assert (await api.http.get("/api/v1/openapi.json")).json() == (await api.http.get("/openapi.json")).json()


def _counted(made: list[str], name: str, real: Any) -> Any:
    def counted(*args: Any) -> Any:
        made.append(name)
        return real(*args)

    return counted


async def test_pages_are_compressed_for_those_who_take_that(api: Api) -> None:
    async with api.http.stream("GET", "/openapi.json", headers={"Accept-Encoding": "gzip"}) as answer:
        sent = b"".join([part async for part in answer.aiter_raw()])
    plain = await api.http.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(sent) == plain.content
    assert len(sent) * 5 < len(plain.content)
    page = await api.http.get("/docs")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert plain.headers["content-type"] == "application/json"


async def test_the_store_is_asked_once_a_second_whether_it_is_ready(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(cached_answers, "READY_FOR", 3600)
    monkeypatch.setattr(api.bell.store.runs, "next_due", _counted(asked, "asked", api.bell.store.runs.next_due))
    readiness = api.app.state.service.readiness
    answers = await asyncio.gather(*(api.http.get("/readyz") for _ in range(20)))
    assert [answer.json() for answer in answers] == [{"status": "ready"}] * 20
    assert asked == ["asked"]

    def broken() -> None:
        asked.append("broken")
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(api.bell.store.runs, "next_due", broken)
    readiness._asked_at = -3600.0
    for _ in range(3):
        assert (await api.http.get("/readyz")).status_code == 503
    assert asked == ["asked", "broken"]


async def test_strangers_do_not_learn_the_version(api: Api) -> None:
    """That is for those with a token of the program's tenant: it is in the metrics, and in the list of workers."""
    for path in ("/", "/nothing", "/docs", "/openapi.json", "/api/v1/openapi.json", "/healthz", "/readyz"):
        answer = await api.http.get(path, headers={"Accept": "text/html"})
        assert answer.content
        assert __version__ not in answer.text
        assert __version__ not in str(answer.headers)
    assert (await api.http.get("/openapi.json")).json()["info"]["version"] == "1", "of the API, as in /api/v1"


WHERE = "PostgreSQL at db.internal:5432/jobs cannot be reached; check that it runs."


@pytest.mark.parametrize("error", [StoreUnavailable, SchemaMismatch])
async def test_where_the_store_is_concerns_operators_alone(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[StoreError]
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise error(WHERE)

    own, not_known = api.caller("read", tenant="default"), api.caller("read", tenant="default")
    monkeypatch.setattr(verified, "CACHED_FOR", 3600.0)
    for caller in (api.reader, own):
        await caller.ask("GET", "/pauses")  # their tokens are known from now on
    for part, verb in ((api.bell.store, "check"), (api.bell.store.tokens, "find"), (api.bell.store.pauses, "list")):
        monkeypatch.setattr(part, verb, broken)
    asked = [await api.http.get("/readyz"), *[await who.send("GET", "/pauses") for who in (not_known, api.reader)]]
    for answer in asked:
        assert answer.status_code == 503
        assert answer.json()["type"].endswith(error.__name__)
        assert "internal" not in answer.text
        assert "log" in answer.json()["detail"]
    assert WHERE in (await own.send("GET", "/pauses")).json()["detail"]
    assert len([one for one in caplog.records if WHERE in one.getMessage()]) == 4, "the log has it, of each"


async def test_a_client_that_leaves_amid_a_file_is_no_error(api: Api) -> None:
    errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: errors.append(context))
    reading, go_on, was_read = threading.Event(), threading.Event(), threading.Event()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            reading.set()
            assert go_on.wait(30)
            try:
                return super().read(size)
            finally:
                was_read.set()

    file = Slow(b"x" * 10)
    call: Any = SimpleNamespace(client=api.bell)

    async def stream() -> None:
        async for _ in files._chunks(call, file):
            pass

    streaming = asyncio.create_task(stream())
    await asyncio.to_thread(reading.wait, 30)
    streaming.cancel()
    await asyncio.gather(streaming, return_exceptions=True)
    go_on.set()
    await asyncio.to_thread(until, lambda: file.closed, "the file to be closed")
    await asyncio.to_thread(was_read.wait, 30)
    del streaming
    for _ in range(20):  # what the thread has raised is put into its future
        await api.bell.runtime.hop(lambda: None)
    gc.collect()  # and told to the loop when that is collected
    assert errors == []
