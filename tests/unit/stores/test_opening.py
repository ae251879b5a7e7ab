"""Opening a store by its URL: our schemes from a table, those of third parties by their entry points."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.command_line import environment
from tests.support.third_party import DELEGATING, install
from workbell import InvalidUrl, StoreError, Workbell, WorkbellError
from workbell.model.state import Retention
from workbell.stores.memory.store import MemoryStore
from workbell.stores.opening import open_store
from workbell.stores.sqlite.store import SqliteStore

Install = Callable[..., None]

HOT_STARTS = {
    "help": "from workbell.cli.main import workbell\nworkbell(['--help'], standalone_mode=False)",
    "sqlite": "from workbell import Workbell\nwith Workbell('sqlite:///x.db') as bell: bell.store.check()",
}


@pytest.fixture
def provide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package, for this process and this test."""
    folder, before = tmp_path / "site", set(sys.modules)
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def provide(code: str = DELEGATING, name: str = "renamed_store", scheme: str = "renamed+sqlite") -> None:
        install(folder, name, code, scheme)

    yield provide
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


@pytest.mark.parametrize("code", HOT_STARTS.values(), ids=HOT_STARTS)
def test_a_start_without_third_parties_looks_for_none(code: str, tmp_path: Path) -> None:
    """To read what every installed package provides takes longer than opening a file."""
    shown = "import sys\nprint('importlib.metadata' in sys.modules, 'workbell' in sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{shown}"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.stderr == "False True\n", done


def test_our_own_schemes(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/a.db")) as store:
        assert isinstance(store, SqliteStore)
        assert store.file.path == tmp_path / "a.db"
    assert isinstance(open_store("memory://"), MemoryStore)


def test_a_store_of_a_third_party(provide: Install, tmp_path: Path) -> None:
    provide()
    with Workbell(f"renamed+sqlite:///{tmp_path}/x.db") as bell:
        assert isinstance(bell.store, SqliteStore)
        assert bell.store.file.path == tmp_path / "x.db"
        bell.store.check()
    assert (tmp_path / "x.db").exists()


def test_a_third_party_is_told_what_to_keep_and_how_many_connections(
    provide: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(
        "from workbell.stores.memory.store import MemoryStore\ngiven = []\n"
        "def open_url(url, **options):\n    given.append((url, options))\n    return MemoryStore()\n"
    )
    keep = Retention(timedelta(days=1), timedelta(days=2))
    open_store("renamed+sqlite://a?b=c", keep, 7)
    open_store("renamed+sqlite://")
    assert sys.modules["renamed_store"].given == [
        ("renamed+sqlite://a?b=c", {"keep": keep, "connections": 7}),
        ("renamed+sqlite://", {"keep": Retention(), "connections": None}),
    ]


def test_a_third_party_does_not_take_our_schemes(provide: Install, tmp_path: Path) -> None:
    provide("def open_url(url, **options):\n    raise AssertionError\n", scheme="sqlite")
    open_store(f"sqlite:///{tmp_path}/x.db").close()


def test_an_unknown_scheme_lists_those_there_are(provide: Install) -> None:
    provide()
    with pytest.raises(InvalidUrl) as caught:
        open_store("redis://me:secret@host/0")
    assert str(caught.value) == (
        "'redis' names no store; there are d1+http, d1+https, memory, postgres, postgresql, renamed+sqlite and sqlite. "
        "Write the URL as "
        "sqlite:///file.db or postgresql://host/database, or install the package that provides 'redis'."
    )


@pytest.mark.parametrize("url", ["file.db", "", "me:secret@host", "://x", "a b://x", "me:secret@host://x", "sqlite:x"])
def test_what_is_no_url_at_all(url: str) -> None:
    with pytest.raises(InvalidUrl, match=r"names no store; there are d1\+http, d1\+https, memory, ") as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert "install" not in str(caught.value)


@pytest.mark.parametrize("url", ["sqlite://x.db", "sqlite:///", "sqlite:///x.db?mode=ro", "memory://x", 7])
def test_our_schemes_with_something_wrong_after_them(url: str) -> None:
    with pytest.raises(InvalidUrl, match=r"write (sqlite:///file\.db|memory://)|must be a text"):
        open_store(url)


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (
            "def open_url(url, **options):\n    raise ValueError(f'no such host in {url}')\n",
            StoreError,
            r"ValueError: no such host in renamed\+sqlite://me:…@host/x; .*the package",
        ),
        ("def open_url(url):\n    pass\n", StoreError, r"TypeError: .*keep"),
        ("import no_such_driver\n", StoreError, r"ModuleNotFoundError: No module named 'no_such_driver'"),
        ("", StoreError, r"AttributeError: .*open_url"),
        (
            "from workbell import InvalidUrl\ndef open_url(url, **_):\n    raise InvalidUrl('a host is missing.')\n",
            InvalidUrl,
            r": a host is missing\.$",
        ),
        ("def open_url(url, **options):\n    return None\n", StoreError, r"NoneType.* no store.* check, clock, close"),
    ],
)
def test_an_error_of_a_third_party_names_its_package(
    code: str, kind: type[WorkbellError], said: str, provide: Install
) -> None:
    provide(code)
    with pytest.raises(kind, match=said) as caught:
        open_store("renamed+sqlite://me:secret@host/x")
    assert str(caught.value).startswith("renamed-store 1.2 (entry point renamed+sqlite = renamed_store:open_url)")
    assert "secret" not in str(caught.value)
    assert type(caught.value) is kind


def test_two_packages_for_one_scheme(provide: Install) -> None:
    """Which of them is found first depends on the machine: a store must not."""
    provide()
    provide(name="another_store")
    with pytest.raises(InvalidUrl, match=r"'renamed\+sqlite' .* another-store 1\.2 .*renamed-store 1\.2 .*uninstall"):
        open_store("renamed+sqlite:///x.db")
