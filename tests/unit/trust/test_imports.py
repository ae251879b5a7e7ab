"""Modules from folders that Workbell puts on `sys.path`: read if they are trusted, their compiled code too."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.foreign import hand_over
from workbell.errors import Untrusted
from workbell.trust import imports


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like `/tmp`: others can add files, and not replace ours."""
    monkeypatch.delenv("WORKBELL_TRUST", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / "project"
    folder.mkdir()
    folder.chmod(0o1777)
    before = list(sys.meta_path)
    imports.put_on_path(folder)
    importlib.invalidate_caches()
    yield folder
    sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.startswith("wb_trial")]:
        del sys.modules[name]


def write(folder: Path, name: str, text: str = "value = 1\n") -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o644)
    importlib.invalidate_caches()
    return file


def test_own_modules_and_packages(folder: Path) -> None:
    write(folder, "wb_trial_own.py", "import wb_trial_package.inner\n")
    write(folder, "wb_trial_package/inner.py")
    assert importlib.import_module("wb_trial_own").wb_trial_package.inner.value == 1


def test_a_module_of_another_is_not_run(folder: Path) -> None:
    """It would come before a library of the same name."""
    file = write(folder, "wb_trial_dropped.py", "raise SystemExit('it ran')\n")
    word = hand_over(file)
    write(folder, "wb_trial_mine.py", "import wb_trial_dropped\n")
    with pytest.raises(Untrusted, match=word) as caught:
        importlib.import_module("wb_trial_mine")
    assert str(caught.value).startswith(f"{file}: it ")


def test_a_package_of_another_is_not_run(folder: Path) -> None:
    write(folder, "wb_trial_theirs/__init__.py", "raise SystemExit('it ran')\n")
    hand_over(folder / "wb_trial_theirs")
    with pytest.raises(Untrusted, match="its folder"):
        importlib.import_module("wb_trial_theirs")


def test_compiled_code_of_another_is_passed_over(folder: Path) -> None:
    """Python believes what lies in __pycache__ if its time and size are those of the source."""
    file = write(folder, "wb_trial_cached.py", "value = 'evil'\n")
    importlib.import_module("wb_trial_cached")
    cached = Path(importlib.util.cache_from_source(str(file)))
    assert cached.exists()
    at = file.stat().st_mtime_ns
    file.write_text("value = 'mine'\n")  # as long
    os.utime(file, ns=(at, at))
    del sys.modules["wb_trial_cached"]
    assert importlib.import_module("wb_trial_cached").value == "evil", "otherwise this shows nothing"
    hand_over(cached)
    del sys.modules["wb_trial_cached"]
    assert importlib.import_module("wb_trial_cached").value == "mine"


def test_a_source_of_another_is_not_hidden_by_compiled_code(folder: Path) -> None:
    file = write(folder, "wb_trial_behind.py")
    importlib.import_module("wb_trial_behind")
    hand_over(file)
    del sys.modules["wb_trial_behind"]
    with pytest.raises(Untrusted):
        importlib.import_module("wb_trial_behind")


def test_compiled_code_alone(folder: Path) -> None:
    file = write(folder, "wb_trial_bare.py")
    importlib.import_module("wb_trial_bare")
    bare = folder / "wb_trial_bare.pyc"
    Path(importlib.util.cache_from_source(str(file))).rename(bare)
    file.unlink()
    del sys.modules["wb_trial_bare"]
    importlib.invalidate_caches()
    assert importlib.import_module("wb_trial_bare").value == 1
    hand_over(bare)
    del sys.modules["wb_trial_bare"]
    with pytest.raises(Untrusted):
        importlib.import_module("wb_trial_bare")


def test_installed_packages_are_left_to_python(folder: Path) -> None:
    """A virtual environment below the project may belong to whoever made it."""
    packages = folder / ".venv" / "site-packages"
    packages.mkdir(parents=True)
    file = write(packages, "wb_trial_library.py")
    hand_over(file)
    sys.path.insert(0, str(packages))
    assert importlib.import_module("wb_trial_library").value == 1
