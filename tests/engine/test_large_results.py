"""A result over the limit: the run fails, and the JSON that the handler returned is kept as a file."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from workbell import InvalidInput, Retry, Run, Status, Workbell
from workbell.model.json_text import LIMIT
from workbell.settings import Settings

LARGE = {"pages": ["x" * 1000] * (LIMIT // 1000 + 1)}


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Workbell]:
    settings = Settings(url=f"sqlite:///{tmp_path}/bell.db", storage=str(tmp_path / "storage"), poll=0.02)
    with Workbell(settings=settings) as bell:
        yield bell


def kept(bell: Workbell, run: Run) -> Any:
    """What is in the file that the error and the reason of a run name."""
    assert (run.status, run.attempt) == (Status.FAILED, 1), "it is not tried again"
    assert run.result is None
    found = re.fullmatch(r"result; kept as file (\S+)", run.reason or "")
    assert found is not None, run.reason
    assert f"it is kept as file {found[1]}" in (run.error or "")
    assert f'bell.files.open("{found[1]}")' in (run.error or "")
    file = bell.for_tenant(run.tenant).files.get(found[1])
    assert (file.filename, file.content_type) == (f"result-{run.id}.json", "application/json")
    with bell.for_tenant(run.tenant).files.open(file.id) as content:
        return msgspec.json.decode(content.read())


@pytest.mark.anyio
@pytest.mark.parametrize("tenant", ["default", "other"])
async def test_plain_and_async_handlers(bell: Workbell, tenant: str) -> None:
    @bell.job(retry=Retry(attempts=3, delay=0))
    def plain() -> dict[str, list[str]]:
        return LARGE

    @bell.job(retry=Retry(attempts=3, delay=0))
    async def on_loop() -> dict[str, list[str]]:
        return LARGE

    theirs = bell.for_tenant(tenant)
    async with bell.running():
        for job in ("plain", "on_loop"):
            run = await theirs.await_((await theirs.aenqueue(job)).id, timeout=30)
            assert kept(bell, run) == LARGE


@pytest.mark.anyio
async def test_hooks_around_the_run_learn_of_the_file(bell: Workbell) -> None:
    seen: list[str] = []

    @bell.around_run
    def watch() -> Iterator[None]:
        try:
            yield
        except InvalidInput as error:
            seen.append(str(error))
            raise

    @bell.job
    def plain() -> dict[str, list[str]]:
        return LARGE

    @bell.job
    async def on_loop() -> dict[str, list[str]]:
        return LARGE

    async with bell.running():
        for job in (plain, on_loop):
            run = await bell.await_((await job.aenqueue()).id, timeout=30)
            assert kept(bell, run) == LARGE
            assert "it is kept as file" in seen.pop()


@pytest.mark.anyio
async def test_a_result_that_is_nested_too_deeply(bell: Workbell) -> None:
    deep: list[Any] = []
    for _ in range(40):
        deep = [deep]

    @bell.job
    def plain() -> list[Any]:
        return deep

    async with bell.running():
        assert kept(bell, await bell.await_((await plain.aenqueue()).id, timeout=30)) == deep


@pytest.mark.anyio
async def test_where_it_cannot_be_kept_the_error_says_so(bell: Workbell, tmp_path: Path) -> None:
    (tmp_path / "storage").write_text("no folder")

    @bell.job
    def plain() -> dict[str, list[str]]:
        return LARGE

    @bell.job
    def no_json() -> object:
        return object()

    async with bell.running():
        run = await bell.await_((await plain.aenqueue()).id, timeout=30)
        other = await bell.await_((await no_json.aenqueue()).id, timeout=30)
    assert (run.status, run.reason) == (Status.FAILED, "result")
    assert "could not be kept as a file" in (run.error or "")
    assert (other.status, other.reason) == (Status.FAILED, "result")
    assert "file" not in (other.error or "").split("\n")[0], "there is nothing that could be kept"


ISOLATED = """
from workbell import Workbell
from workbell.settings import Settings

bell = Workbell(settings=Settings(url="sqlite:///{folder}/isolated.db", storage="{folder}/storage", poll=0.02))

@bell.job(isolate="process")
def large():
    return {{"pages": ["x" * 1000] * 300}}
"""


@pytest.mark.anyio
async def test_isolated_handlers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large_results.py").write_text(ISOLATED.format(folder=tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    shop = importlib.import_module("large_results")
    async with shop.bell.running():
        run = await shop.bell.await_((await shop.large.aenqueue()).id, timeout=60)
    assert kept(shop.bell, run) == {"pages": ["x" * 1000] * 300}
    shop.bell.close()
