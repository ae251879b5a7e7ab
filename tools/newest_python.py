"""Prints the newest Python on PATH that starts and is at least as new as asked: `newest_python.py 3.12 [name]`.

With a name or a path, only that one.

A shim of pyenv that stands for a version which is not chosen does not start: then the versions behind it are tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NEWEST = 30  # minor version up to which names are tried
SHOW = "import sys; print(*sys.version_info[:2])"


def version_of(python: str) -> tuple[int, int] | None:
    """The version of a program, if it is a Python that starts."""
    try:
        done = subprocess.run([python, "-c", SHOW], capture_output=True, text=True, timeout=60, check=False)
        major, minor = done.stdout.split()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return int(major), int(minor)


def candidates(oldest: tuple[int, int]) -> Iterator[str]:
    """Pythons on PATH, the newest first."""
    for minor in range(NEWEST, oldest[1] - 1, -1):
        yield from programs(f"python{oldest[0]}.{minor}")


def programs(name: str) -> Iterator[str]:
    """What a name on PATH stands for."""
    found = shutil.which(name)
    if found is not None:
        yield found
        if Path(found).parent.name == "shims":
            yield from map(str, sorted(Path(found).parents[1].glob(f"versions/*/bin/{Path(name).name}"), reverse=True))


def main(asked: str, name: str | None = None) -> int:
    major, minor = map(int, asked.split("."))
    for python in candidates((major, minor)) if name is None else programs(name):
        version = version_of(python)
        if version is not None and version >= (major, minor):
            print(python)
            return 0
    return 1


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    sys.exit(main(*sys.argv[1:]))
