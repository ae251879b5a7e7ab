"""The package as it is installed: it says that it has types, so that the checkers of its users read them."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPET = """\
from workbell import Workbell

bell = Workbell("memory://")


@bell.job
def greet(name: str) -> str:
    return name


greet.enqueue(name="Ada")
greet.enqueue(name=42)
"""


def test_the_marker_is_in_the_package() -> None:
    assert files("workbell").joinpath("py.typed").is_file()


@pytest.mark.timeout(300)
def test_mypy_reads_the_types_of_an_installed_package(tmp_path: Path) -> None:
    # mypy asks for the marker only where a package is installed: here it is, in an environment of its own.
    venv.create(tmp_path / "venv", with_pip=False)
    (place,) = (tmp_path / "venv" / "lib").glob("*/site-packages")
    (place / "workbell.pth").write_text(f"{ROOT / 'src'}\n{sysconfig.get_path('purelib')}\n")
    (tmp_path / "shop.py").write_text(SNIPPET)
    command = [sys.executable, "-m", "mypy", "--python-executable", tmp_path / "venv" / "bin" / "python", "shop.py"]
    options = ["--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'installed'}"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path)
    line = len(SNIPPET.splitlines())
    assert f'shop.py:{line}: error: Argument "name" to "enqueue"' in done.stdout, done.stdout + done.stderr
    assert done.stdout.count(": error:") == 1
