"""Stored files of a tenant by `bell.files`, which jobs see as `ctx.storage`."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.support.inside.values import Settings, new_id
from workbell import Context, InvalidOption, StoredFileNotFound, Workbell
from workbell.testing import drain


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Workbell]:
    settings = Settings(url="memory://", storage=str(tmp_path / "storage"))
    with Workbell(settings=settings) as bell:
        yield bell


def content(bell: Workbell, file_id: str) -> bytes:
    with bell.files.open(file_id) as file:
        return file.read()


def test_put_get_open_and_delete(bell: Workbell, tmp_path: Path) -> None:
    made = bell.files.put(b"a,b\n", filename="numbers.csv")
    assert (made.filename, made.content_type, made.size) == ("numbers.csv", "text/csv", 4)
    assert bell.files.get(made.id) == made
    assert content(bell, made.id) == b"a,b\n"
    (tmp_path / "note.txt").write_text("hello")
    named = bell.files.put(tmp_path / "note.txt")
    typed = bell.files.put(BytesIO(b"x"), filename="x", content_type="image/png")
    assert (named.filename, typed.content_type) == ("note.txt", "image/png")
    assert bell.files.list() == [made, named, typed]
    assert bell.files.list(after=made.id, limit=1) == [named]
    bell.files.delete(made.id)
    for verb in (bell.files.get, bell.files.open, bell.files.delete):
        for unknown in (made.id, new_id(), "../x"):
            with pytest.raises(StoredFileNotFound, match="There is no stored file"):
                verb(unknown)
    for limit in (0, 1001):
        with pytest.raises(InvalidOption, match=f"limit: {limit} is not from 1 to 1000"):
            bell.files.list(limit=limit)


def test_files_of_another_tenant_are_not_there(bell: Workbell) -> None:
    made = bell.files.put(b"x", filename="x")
    other = bell.for_tenant("other").files
    assert other.list() == []
    for verb in (other.get, other.open, other.delete):
        with pytest.raises(StoredFileNotFound):
            verb(made.id)
    assert content(bell, made.id) == b"x"


def test_jobs_see_the_same_files(bell: Workbell) -> None:
    @bell.job
    def copy(ctx: Context, file_id: str) -> str:
        with ctx.storage.open(file_id) as file:
            return ctx.storage.put(file.read() + b"!", filename="copy").id

    run = copy.enqueue(bell.files.put(b"hello", filename="first").id)
    drain(bell)
    assert content(bell, str(bell.get(run.id).result)) == b"hello!"


@pytest.mark.anyio
async def test_async_twins(bell: Workbell) -> None:
    made = await bell.files.aput(b"x", filename="x")
    assert await bell.files.aget(made.id) == made
    assert await bell.files.alist() == [made]
    with await bell.files.aopen(made.id) as file:
        assert file.read() == b"x"
    await bell.files.adelete(made.id)
    with pytest.raises(StoredFileNotFound):
        await bell.files.aget(made.id)
