"""Wall clocks that tests can put ahead and back, of processes that are started with the library `clock_shim.c`."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("clock_shim.c")


@cache
def library() -> Path:
    """Compiled once a session, where also the user that PostgreSQL runs as can read it. It needs a C compiler: without
    one these tests fail, since nothing else would show what they show."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "these tests need a C compiler (cc, gcc or clang) on PATH"
    folder = Path(tempfile.mkdtemp(prefix="workbell-clock-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    made = folder / "clock_shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], check=True)
    return made


class WallClock:
    """The wall clock of all processes that are started with `environment`."""

    def __init__(self, name: str) -> None:
        self._file = library().with_name(f"{name}-{id(self)}")
        self._file.write_bytes(bytes(8))
        self._file.chmod(0o644)

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(library()), "SHIFT_CLOCK": str(self._file)}

    def put(self, seconds: float) -> None:
        """Ahead of the machine's, or behind it: in place, because it is mapped into memory."""
        with self._file.open("r+b") as file:
            file.write(int(seconds * 1e9).to_bytes(8, "little", signed=True))
