"""Two PostgreSQL servers, a primary and its streaming standby, that change roles when the tests want it.

The standby is made by `pg_basebackup -R`, which PostgreSQL and its wheel both have. Ports stay the same for the life of
a pair, because clients have both in one URL; they lie below those that the system gives to outgoing connections, one of
which could take the port of a killed server.
"""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psycopg

from .postgres import OWNER, PostgresServer
from .waiting import until

STABLE_PORTS = range(20_000, 32_000)
WAL = {"wal_level": "replica", "hot_standby": "on", "max_wal_senders": "8", "wal_keep_size": "256MB"}
# A server that is killed leaves its shared memory behind: as a file it goes with the folder.
WAL |= {"dynamic_shared_memory_type": "mmap"}


class Pair:
    """`primary` takes writes, `standby` follows it. Synchronous: a commit waits until the standby has it on disk."""

    def __init__(self, folder: Path | None = None, *, synchronous: bool = False) -> None:
        self.synchronous = synchronous
        self.primary, self.standby = (PostgresServer(folder, settings=WAL) for _ in range(2))
        self._both = (self.primary, self.standby)  # in the order of the URL

    def __enter__(self) -> Pair:
        try:
            for server in self._both:
                server.port = stable_port()
            self.primary.start()
            self.rebuild()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        for server in self._both:
            server.remove()

    def url(self, database: str, **parameters: str) -> str:
        """One URL with both hosts, of which libpq takes the one that can be written."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self._both)
        wanted = {"target_session_attrs": "read-write", "connect_timeout": "3"} | parameters
        options = "&".join(f"{name}={value}" for name, value in wanted.items())
        return f"postgresql://{OWNER}@{hosts}/{database}?{options}"

    # Failover

    def detach(self) -> None:
        """The standby hears nothing more of the primary: everything that is committed from now on is lost with it."""
        self.standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
        self.standby.execute("SELECT pg_reload_conf()")
        until(lambda: not self.primary.ask("SELECT 1 FROM pg_stat_replication"), "the standby to be detached")

    def promote(self) -> None:
        """The standby becomes the primary, and the pair has none until `rebuild`. The old primary may live on."""
        self.standby.execute("SELECT pg_promote(true, 60)")
        until(lambda: not is_standby(self.standby), "the promotion")
        self.primary, self.standby = self.standby, self.primary

    def fail_over(self) -> None:
        """The primary dies at once, and the standby takes its place."""
        self.primary.kill()
        self.promote()

    def rebuild(self) -> None:
        """Make the second server the standby of the first, from a new copy."""
        self.primary.execute("ALTER SYSTEM RESET synchronous_standby_names")  # or the copy would have it too
        self.primary.execute("SELECT pg_reload_conf()")
        self.standby.stop("immediate")
        self.standby.copy_from(self.primary, "-R")
        self.standby.start()
        if self.synchronous:
            self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.primary.execute("SELECT pg_reload_conf()")
        state = "sync_state = 'sync'" if self.synchronous else "state = 'streaming'"
        until(lambda: self.primary.ask(f"SELECT 1 FROM pg_stat_replication WHERE {state}"), "the standby to follow", 60)

    def await_replay(self) -> None:
        """Until the standby shows everything that the primary has committed."""
        ((position,),) = self.primary.ask("SELECT pg_current_wal_lsn()::text")
        query = f"SELECT 1 WHERE pg_last_wal_replay_lsn() >= '{position}'::pg_lsn"
        until(lambda: self.standby.ask(query), "the standby to catch up")


def is_standby(server: PostgresServer) -> bool:
    try:
        return bool(server.ask("SELECT pg_is_in_recovery()")[0][0])
    except psycopg.OperationalError:
        return True


def stable_port() -> int:
    """A free port that no outgoing connection is given."""
    for port in random.Random().sample(STABLE_PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"no free port among {STABLE_PORTS}")


class Switch:
    """A TCP proxy in front of a server. `move` cuts every connection; new ones go to the other server."""

    def __init__(self, port: int) -> None:
        self._backend = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, name="switch", daemon=True).start()

    def __enter__(self) -> Switch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._cut()

    def url(self, database: str) -> str:
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def move(self, port: int) -> None:
        self._backend = port
        self._cut()

    def _cut(self) -> None:
        for end in list(self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._backend), timeout=5)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                self._open |= {client, server}
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.discard(source)
        source.close()
