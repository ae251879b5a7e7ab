"""The example of an engine (`examples/socket_store`): installed as pip would, and its server."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.processes import kill
from tests.support.warm import SOURCE
from tests.support.worker_app import die_with_parent

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "socket_store"
DEADLINE = 30


def install(folder: Path) -> list[Path]:
    """What belongs on the path: the package, and what its pyproject.toml says as an installer writes it down."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"], project["version"]
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    listed = [f"{scheme} = {function}\n" for scheme, function in project["entry-points"]["workbell.stores"].items()]
    (about / "entry_points.txt").write_text("[workbell.stores]\n" + "".join(listed), "utf-8")
    return [EXAMPLE, folder]


class Server:
    """The server as its README starts it; again on the same port, if it was stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "socket_store.server", "--folder", str(self.folder), "--port", str(self.port)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(EXAMPLE)])}
        self._process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
        )
        assert self._process.stdout is not None
        told = self._process.stdout.readline()  # or its end, if it could not start
        assert told.startswith("listening on 127.0.0.1:"), told
        self.port = int(told.rpartition(":")[2])

    def stop(self) -> None:
        try:
            self._process.terminate()
            self._process.wait(DEADLINE)
        finally:
            kill(self._process)
            assert self._process.stdout is not None
            self._process.stdout.close()

    def url(self, name: str) -> str:
        return f"socketdb://127.0.0.1:{self.port}/{name}"
