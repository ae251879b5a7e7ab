"""Virtual environments without anything of this checkout, as users have them: made by venv, filled by pip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEADLINE = 400


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder), cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without settings of ours, and without other places for modules."""
    hidden = ("WORKBELL_", "PYTHON", "VIRTUAL_ENV", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS")
    return {name: value for name, value in os.environ.items() if not name.startswith(hidden)} | extra


def run(*command: str, cwd: Path, **extra: str) -> str:
    """What a command printed; if it fails, the test does, with that."""
    done = subprocess.run(
        command, cwd=cwd, env=environment(**extra), capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class CleanVenv:
    """An environment in a folder, and the programs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        run(sys.executable, "-m", "venv", str(folder), cwd=folder.parent)

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def install(self, *packages: str) -> None:
        """From the package registry."""
        quiet = ("--quiet", "--disable-pip-version-check")
        run(self.program("python"), "-m", "pip", "install", *quiet, *packages, cwd=self.folder)
