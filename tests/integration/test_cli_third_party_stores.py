"""Commands on a store whose scheme a third party provides: they ask the store, and not the URL, what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.stores import dump, open_store
from tests.support.third_party import install

URL = "renamed+sqlite:///x.db"
IN_MEMORY = "from workbell.stores.memory.store import MemoryStore\ndef open_url(url, **_):\n    return MemoryStore()\n"


@pytest.fixture(autouse=True)
def site(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = install(folder.path / "site")
    install(site, "heap_store", IN_MEMORY, "heap")
    monkeypatch.syspath_prepend(site)
    return site


@pytest.fixture
def filled(folder: Folder) -> Path:
    file = folder.path / "x.db"
    with_tables = open_store(f"sqlite:///{file}")
    with_tables.check()
    with_tables.close()
    return file


@pytest.mark.parametrize("arguments", [["runs", "list"], ["doctor"], ["tokens", "url"], ["copy", "--to", "memory://"]])
def test_a_file_that_is_not_there_stays_away(arguments: list[str], folder: Folder) -> None:
    answer = folder.call(*arguments, "--url", URL)
    assert "x.db" in answer.out + answer.error
    assert not list(folder.path.glob("*.db*"))


def test_the_doctor_finds_the_same(folder: Folder, filled: Path) -> None:
    ours, theirs = (folder.ask("doctor", "--url", url)["findings"] for url in ("sqlite:///x.db", URL))
    assert len(ours) > 3
    for found in (*ours, *theirs):
        # The offset of the clock is measured anew.
        found["text"] = re.sub(r"<?\d+\.\d ms|\b0 s\b", "0 s", found["text"])
    assert theirs == ours


def test_copies_to_it_and_from_it(folder: Folder, filled: Path) -> None:
    assert folder.call("copy", "--url", "sqlite:///x.db", "--to", "renamed+sqlite:///y.db").code == 0
    assert folder.call("copy", "--url", "renamed+sqlite:///y.db", "--to", "sqlite:///z.db").code == 0
    same = folder.call("copy", "--url", "sqlite:///x.db", "--to", URL)
    assert_refused(same, 1, "are one and the same store")


def test_the_sql_of_its_schema(folder: Folder) -> None:
    assert folder.call("migrate", "--dump-sql", "--url", URL).out == dump("sqlite")
    refused = folder.call("migrate", "--dump-sql", "--url", "heap://")
    assert_refused(refused, 1, "heap:// has no SQL of ours", "--engine")
    assert folder.call("migrate", "--dump-sql", "--url", "heap://", "--engine", "postgres").out == dump("postgres")


def test_check_knows_its_file(folder: Folder) -> None:
    """A3: the application's database must not be the store's file, under any name."""
    folder.write("workbell.toml", f'url = "{URL}"\ndatabase = "sqlite:///x.db"\n')
    answer = folder.call("check")
    assert answer.code == 1, answer
    assert "is the store's own file" in answer.out


def test_check_names_a_scheme_that_nothing_provides(folder: Folder) -> None:
    folder.write("workbell.toml", 'url = "nowhere://x"\n')
    answer = folder.call("check")
    assert answer.code == 1, answer
    assert answer.out.startswith("workbell.toml: 'nowhere' names no store; there are d1+http, d1+https, heap, memory, ")
