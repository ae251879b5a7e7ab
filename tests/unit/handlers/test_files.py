"""A3: files that jobs keep: whole or not there, by ids that are ours, and each tenant's own."""

from __future__ import annotations

import io
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from workbell.errors import InvalidOption, StoredFileNotFound
from workbell.handlers.files import CHUNK, Storage
from workbell.model.clock import ManualClock
from workbell.model.ids import is_id, new_id

ID = "0189abcd-0000-7000-8000-000000000001"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "storage", clock=ManualClock())


def content(storage: Storage, file_id: str) -> bytes:
    with storage.open(file_id) as file:
        return file.read()


def test_put_get_open_delete(storage: Storage) -> None:
    file = storage.put(b"a,b\n", filename="numbers.csv")
    assert is_id(file.id)
    assert (file.filename, file.content_type, file.size) == ("numbers.csv", "text/csv", 4)
    assert file.created_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert storage.get(file.id) == file
    assert content(storage, file.id) == b"a,b\n"
    assert storage.delete(file.id) is True
    assert storage.get(file.id) is None
    assert storage.delete(file.id) is False
    with pytest.raises(StoredFileNotFound, match=file.id):
        storage.open(file.id)


def test_everything_that_can_be_put(storage: Storage, tmp_path: Path) -> None:
    path = tmp_path / "source.bin"
    path.write_bytes(b"from a path")
    kept = [
        storage.put(bytearray(b"array"), filename="x"),
        storage.put(memoryview(b"view"), filename="x"),
        storage.put(io.BytesIO(b"file object"), filename="x"),
        storage.put(path),
        storage.put(str(path), filename="named.txt", content_type="text/plain; charset=utf-8"),
        storage.put(b"", filename="empty"),
    ]
    assert [content(storage, file.id) for file in kept] == [
        b"array",
        b"view",
        b"file object",
        b"from a path",
        b"from a path",
        b"",
    ]
    assert [file.filename for file in kept] == ["x", "x", "x", "source.bin", "named.txt", "empty"]
    assert kept[4].content_type == "text/plain; charset=utf-8"
    assert kept[0].content_type == "application/octet-stream"
    assert storage.list() == kept
    assert path.exists()


def test_larger_than_one_read(storage: Storage) -> None:
    data = os.urandom(CHUNK * 2 + 17)
    file = storage.put(io.BytesIO(data), filename="large")
    assert (file.size, content(storage, file.id) == data) == (len(data), True)


def test_the_folder_is_made_by_the_first_put(tmp_path: Path) -> None:
    storage = Storage(tmp_path / "a/b")
    assert (storage.get(new_id()), storage.delete(new_id()), storage.list()) == (None, False, [])
    assert not (tmp_path / "a").exists()
    assert storage.get(storage.put(b"x", filename="x").id) is not None


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "../secret", "/etc/passwd", "x" * 36, "0189\x00", "*", None, 5, b"x", ID.upper(), ID + "\n"]
)
def test_an_id_that_is_none_never_touches_the_disk(
    tmp_path: Path, bad: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.json").write_text("{}")
    storage = Storage(tmp_path / "storage")
    storage.put(b"x", filename="x")
    touched: list[object] = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: touched.append(path))
    monkeypatch.setattr(Path, "open", lambda path, *_: touched.append(path))
    monkeypatch.setattr(Path, "unlink", lambda path, **_: touched.append(path))
    assert storage.get(bad) is None  # type: ignore[arg-type]
    assert storage.delete(bad) is False  # type: ignore[arg-type]
    with pytest.raises(StoredFileNotFound):
        storage.open(bad)  # type: ignore[arg-type]
    assert touched == []


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", "..", ".", "new\nline", "nul\0", "x" * 256, None, 5])
def test_names_that_are_refused(storage: Storage, name: object, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption):
        storage.put(b"x", filename=name)  # type: ignore[arg-type]
    assert not (tmp_path / "storage").exists()


def test_other_things_that_are_refused(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="binary mode"):
        storage.put(io.StringIO("text"), filename="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="expected bytes"):
        storage.put(5, filename="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="No such file"):
        storage.put(tmp_path / "missing.txt")
    with pytest.raises(InvalidOption, match="content_type"):
        storage.put(b"x", filename="x", content_type="text/plain\r\nSet-Cookie: x")
    assert storage.list() == []


def test_tenants_do_not_see_each_other(tmp_path: Path) -> None:
    one, other = Storage(tmp_path, tenant="one"), Storage(tmp_path, tenant="other")
    file = one.put(b"x", filename="x")
    assert (other.get(file.id), other.delete(file.id), other.list()) == (None, False, [])
    with pytest.raises(StoredFileNotFound):
        other.open(file.id)
    assert one.list() == [file]


class Crash(BaseException):
    pass


@pytest.mark.parametrize("step", range(1, 9))
def test_a_crash_leaves_a_whole_file_or_none(tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each call to the operating system that makes something lasting; a crash cleans up nothing."""
    storage = Storage(tmp_path / "storage")
    old = storage.put(b"old", filename="old")
    left = step

    def crash_at(call: object) -> object:
        def wrapped(*args: object, **kwargs: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise Crash
            return call(*args, **kwargs)  # type: ignore[operator]

        return wrapped

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", crash_at(os.fsync))
        patched.setattr(Path, "rename", crash_at(Path.rename))
        patched.setattr(Path, "open", crash_at(Path.open))
        patched.setattr(Path, "unlink", lambda *_, **__: None)
        try:
            storage.put(b"new", filename="new")
            crashed = False
        except Crash:
            crashed = True
    assert crashed is (step <= 8)
    found = storage.list()
    assert old in found
    for file in found:
        assert len(content(storage, file.id)) == file.size
    assert {file.filename for file in found} <= {"old", "new"}
    if step < 8:
        assert found == [old]


def test_the_description_goes_first_when_deleting(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    file = storage.put(b"x", filename="x")
    order: list[str] = []
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **options: (order.append(path.suffix), unlink(path, **options))[1])
    storage.delete(file.id)
    assert order == [".json", ".data"]


def test_a_failed_put_leaves_nothing(storage: Storage, tmp_path: Path) -> None:
    class Breaks(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise OSError("the network is gone")

    with pytest.raises(OSError, match="network"):
        storage.put(Breaks(), filename="x")
    assert list((tmp_path / "storage").iterdir()) == []


def test_damage_is_no_file(storage: Storage, tmp_path: Path) -> None:
    broken, hollow = storage.put(b"x", filename="x"), storage.put(b"x", filename="x")
    (tmp_path / f"storage/{broken.id}.json").write_text("{")
    (tmp_path / f"storage/{hollow.id}.data").unlink()
    assert storage.get(broken.id) is None
    with pytest.raises(StoredFileNotFound):
        storage.open(hollow.id)


def test_only_one_of_many_deletes_it(storage: Storage) -> None:
    file = storage.put(b"x", filename="x")
    answers: list[bool] = []
    barrier = threading.Barrier(8)

    def delete() -> None:
        barrier.wait(30)
        answers.append(storage.delete(file.id))

    threads = [threading.Thread(target=delete) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(answers) == [False] * 7 + [True]
