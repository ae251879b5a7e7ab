"""Modes of the files that Workbell makes: for their owner alone, whatever the umask; what is there keeps its own."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from workbell.app import open_store
from workbell.doctor.modes import check_modes, mode_findings
from workbell.handlers.files import Storage


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path, pattern: str) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.glob(pattern)}


def test_a_new_store(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/workbell.db")) as store:
        store.migrate()
        found = modes(tmp_path, "workbell.db*")
    assert set(found) == {"workbell.db", "workbell.db-wal", "workbell.db-shm", "workbell.db-lock"}
    assert set(found.values()) == {0o600}


def test_a_store_that_a_group_shares(tmp_path: Path) -> None:
    """What is made beside it later has its mode, for each of them."""
    tmp_path.chmod(0o2770)
    os.umask(0o077)
    with closing(open_store(f"sqlite:///{tmp_path}/workbell.db")) as store:
        store.migrate()
    (tmp_path / "workbell.db-lock").unlink()
    (tmp_path / "workbell.db").chmod(0o660)
    with closing(open_store(f"sqlite:///{tmp_path}/workbell.db")) as store:
        store.check()
        found = modes(tmp_path, "workbell.db*")
    assert len(found) == 4
    assert set(found.values()) == {0o660}


def test_a_store_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "workbell.db")) as connection:
        connection.execute("CREATE TABLE mine (id)")
    (tmp_path / "workbell.db").chmod(0o640)
    with closing(open_store(f"sqlite:///{tmp_path}/workbell.db")) as store:
        store.migrate()
    assert modes(tmp_path, "workbell.db") == {"workbell.db": 0o640}


def test_stored_files(tmp_path: Path) -> None:
    Storage(tmp_path / "storage").put(b"secret", filename="a.txt")
    assert modes(tmp_path, "storage") == {"storage": 0o700}
    assert set(modes(tmp_path / "storage", "*").values()) == {0o600}


@pytest.mark.parametrize(("folder", "file"), [(0o755, 0o600), (0o2770, 0o660), (0o777, 0o660)])
def test_stored_files_in_a_folder_that_was_there(tmp_path: Path, folder: int, file: int) -> None:
    """A folder that a group may write to is shared with it; never with everybody."""
    os.umask(0o077)
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage").chmod(folder)
    Storage(tmp_path / "storage").put(b"secret", filename="a.txt")
    assert modes(tmp_path, "storage") == {"storage": folder}
    assert set(modes(tmp_path / "storage", "*").values()) == {file}


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody gets to; those of pytest are for one user."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(
    ("mode", "level"), [(0o600, None), (0o660, None), (0o640, None), (0o644, "note"), (0o666, "risk")]
)
def test_the_doctor_says_who_can_read_the_store(public: Path, mode: int, level: str | None) -> None:
    file = public / "workbell.db"
    with closing(open_store(f"sqlite:///{file}")) as store:
        store.migrate()
        file.chmod(mode)
        found = list(check_modes(store, {}))
        assert [finding.level for finding in found] == ([] if level is None else [level])
        if found:
            assert f"(mode {mode:04o})" in found[0].says
            assert found[0].remedy == f"`chmod o= {file}*`."
        public.chmod(0o700)
        assert list(check_modes(store, {})) == [], "nobody else gets to it"


def test_the_doctor_says_who_can_read_stored_files(public: Path) -> None:
    storage = public / "storage"
    assert list(mode_findings(storage, "storage")) == []
    storage.mkdir()
    for mode, level in ((0o755, "note"), (0o777, "risk")):
        storage.chmod(mode)
        assert [finding.level for finding in mode_findings(storage, "storage")] == [level]
    storage.chmod(0o750)
    assert list(mode_findings(storage, "storage")) == []
