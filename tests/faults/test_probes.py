"""Probes and systemd's watchdog: red while the store answers nobody, though all processes live; green afterwards."""

from __future__ import annotations

import re
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.fleet import Fleet, Supervisor
from tests.support.postgres import PostgresServer
from tests.support.waiting import until
from workbell import Workbell
from workbell.cli.probe import ask
from workbell.model.listen_address import ListenAddress, read_listen_address

POLL = 0.5
RED_WITHIN = 3 * POLL + 5.0  # seconds
WATCHDOG = 1.5  # seconds


class FrozenStore(NamedTuple):
    url: str
    freeze: Callable[[], object]
    thaw: Callable[[], object]


@pytest.fixture(params=["postgres", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrozenStore]:
    """A server that is stopped (SIGSTOP), or a file that somebody has locked."""
    folder = tmp_path_factory.mktemp("store")
    if request.param == "postgres":
        server = PostgresServer(folder)
        server.start()
        yield FrozenStore(server.create_database(), server.pause, server.resume)
        server.remove()
        return
    file = folder / "workbell.db"
    with Workbell(f"sqlite:///{file}") as bell:
        bell.store.check()
    locker = sqlite3.connect(file, isolation_level=None)
    yield FrozenStore(
        f"sqlite:///{file}", lambda: locker.execute("BEGIN IMMEDIATE"), lambda: locker.execute("ROLLBACK")
    )
    locker.close()


class FakeManager:
    """Receives what systemd would."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)

    def received(self) -> list[str]:
        """Lines since the last call."""
        lines: list[str] = []
        while True:
            try:
                lines += self._socket.recv(4096).decode().splitlines()
            except BlockingIOError:
                return lines

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeManager]:
    manager = FakeManager(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", str(int(WATCHDOG * 1e6)))
    yield manager
    manager.close()


def probed(site: Fleet, supervisor: Supervisor) -> ListenAddress:
    """Where it answers probes."""

    def address() -> ListenAddress | None:
        assert supervisor.poll() is None
        found = re.search(r"probes are answered at ([\w.:]+)", site.logged())
        return None if found is None else read_listen_address(found[1])

    answer = until(address, "the address of the probes")
    assert answer is not None
    return answer


@pytest.mark.timeout(110)
def test_a_store_that_stands_still(tmp_path: Path, store: FrozenStore, manager: FakeManager) -> None:
    with Fleet(tmp_path, store.url, LEASE="30", POLL=str(POLL)) as site:
        fleet = site.supervise("worker", "--processes", "2", "--probe", "127.0.0.1:0")
        address = probed(site, fleet)
        sent: list[str] = []
        until(lambda: ask(address, "/readyz") == (True, "ready"), "it to be ready", 60)
        until(lambda: sent.extend(manager.received()) or "WATCHDOG=1" in sent, "the first sign of life")
        assert sent.index("READY=1") < sent.index("WATCHDOG=1")
        workers = site.await_workers(fleet, 2)

        store.freeze()
        try:
            frozen_at = time.monotonic()
            until(lambda: not ask(address, "/readyz")[0], "it to be red", 60)
            assert time.monotonic() - frozen_at < RED_WITHIN
            sentence = ask(address, "/readyz")[1]
            assert re.fullmatch(r"not ready: worker \d: no poll of the store has succeeded for \d+ s", sentence)
            assert ask(address, "/livez") == (True, "alive")
            assert site.children_of(fleet) == workers, "they live"
            manager.received()
            red_at = time.monotonic()
            until(lambda: time.monotonic() >= red_at + WATCHDOG, "the time of the watchdog to pass")
            assert "WATCHDOG=1" not in manager.received(), "else systemd would let it be"
        finally:
            store.thaw()
        until(lambda: ask(address, "/readyz") == (True, "ready"), "it to be green again", 60)
        until(lambda: "WATCHDOG=1" in manager.received(), "signs of life again")

        fleet.send_signal(signal.SIGTERM)
        assert fleet.wait(60) == 0
        assert "STOPPING=1" in manager.received()
        assert not ask(address, "/livez")[0]
