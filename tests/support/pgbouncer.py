"""A private PgBouncer in transaction mode, in front of the tests' PostgreSQL: on a free port, removed at the end.

Run as a program it installs one where there is none: as root on Debian or its like. Else it names the package.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PACKAGE = "pgbouncer"
DEADLINE = 300
POOL = 5
CONFIG = """
[databases]
* = host=127.0.0.1 port={server} user=workbell

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 1000
max_db_connections = 0
server_idle_timeout = 5
query_wait_timeout = 60
log_connections = 0
log_disconnections = 0
log_pooler_errors = 1
"""


class PgBouncer:
    """Every database of a PostgreSQL, each through a pool of its own."""

    def __init__(self, server_port: int) -> None:
        from tests.support.postgres import free_port, unprivileged_user

        program = find_program()
        if program is None:
            raise RuntimeError(f"No PgBouncer: install the package {PACKAGE}.")
        self.folder = Path(tempfile.mkdtemp(prefix="workbell-pgbouncer-"))
        self.port = free_port()
        self._user = unprivileged_user()
        config = self.folder / "pgbouncer.ini"
        config.write_text(CONFIG.format(server=server_port, port=self.port, pool=POOL), "utf-8")
        if self._user != "-":
            self.folder.chmod(0o755)
        self._command = [program, "-q", str(config)]
        self._guard: subprocess.Popen[bytes] | None = None

    def start(self) -> PgBouncer:
        from tests.support.waiting import until

        guard = [sys.executable, str(Path(__file__).with_name("guard.py")), self._user, str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            guarded = self._guard = subprocess.Popen(
                [*guard, *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        atexit.register(self.remove)
        until(lambda: guarded.poll() is not None or self._answers(), "PgBouncer's start")
        if guarded.poll() is not None:
            raise RuntimeError(f"PgBouncer did not start:\n{self.logged()[-2000:]}")
        return self

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(f"postgresql://workbell@127.0.0.1:{self.port}/postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def logged(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")

    def remove(self) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait(30)
            self._guard = None
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.remove)


def through(url: str, port: int) -> str:
    """The URL of the same database through a pooler at this port."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))


def find_program() -> str | None:
    return shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


def install() -> int:
    """Install one where there is none; the exit code."""
    by_apt = ["apt-get", "install", "--yes", "--no-install-recommends", PACKAGE]
    commands = [by_apt, ["apt-get", "update"], by_apt] if os.geteuid() == 0 and shutil.which("apt-get") else []
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for command in commands if find_program() is None else []:
        try:
            subprocess.run(command, env=environment, capture_output=True, timeout=DEADLINE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{' '.join(command)}: {error}", file=sys.stderr)
        if find_program() is not None:
            break
    if find_program() is None:
        print(f"there is no PgBouncer on this machine: install the package {PACKAGE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(install())
