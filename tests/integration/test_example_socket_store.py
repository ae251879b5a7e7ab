"""The example of an engine (`examples/socket_store`): it passes the contracts by the command that its page names."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from tests.docs.pages import DOCS, text_of
from tests.support.command_line import call
from tests.support.inside.making import add, claim, ids, request
from tests.support.inside.stores import open_store
from tests.support.socket_store import EXAMPLE, Server, install
from tests.support.warm import SOURCE
from workbell import InvalidUrl, Status, StoreUnavailable, Workbell, WrongConnection

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
PART = "tick or claim or hint or schedule or event"  # of the contract of a store: all of it takes a minute
COMMAND = re.compile(r"^pytest --pyargs (\S+) --workbell-store", re.MULTILINE)
CONTRACTS = tuple(f"workbell.testing.contracts.{name}" for name in ("core", "database", "parts"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return install(tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def _installed(site: list[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for folder in site:
        monkeypatch.syspath_prepend(folder)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "socket_store"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("socket-store"))
    yield server
    server.stop()


@pytest.fixture
def url(server: Server) -> str:
    return server.url(f"test_{uuid4().hex}")


def test_the_page_names_the_commands() -> None:
    for page in (DOCS / "how-to" / "own-store.md", EXAMPLE / "README.md"):
        assert set(COMMAND.findall(text_of(page))) == set(CONTRACTS), page


@pytest.mark.timeout(900)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_it_passes_the_contract(contract: str, server: Server, site: list[Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--pyargs", contract, "--workbell-store", server.url("test_{new}")]
    command += ["-p", "workbell.testing.plugin", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "temporary")]
    if not contract.endswith("database") and not SOAK:
        command += ["-k", PART]
    path = os.pathsep.join(map(str, [SOURCE, *site]))
    # The plugin's entry point, if Workbell is installed, would name it a second time.
    environment = os.environ | {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout
    assert int(passed[1]) >= 25
    assert "skipped" not in done.stdout
    assert "xfailed" not in done.stdout


def test_an_engine_on_it(url: str) -> None:
    """A job that is enqueued, and one of a schedule."""
    ticked = threading.Event()
    with Workbell(url) as bell:

        @bell.job
        def double(number: int) -> int:
            return number * 2

        @bell.job(cron="* * * * * *")
        def tick() -> str:
            ticked.set()
            return "ticked"

        async def work() -> None:
            async with bell.running():
                run = await double.aenqueue(2**61)
                assert (await bell.await_(run.id, timeout=60)).result == 2**62
                assert await anyio.to_thread.run_sync(ticked.wait, 60)
                first = bell.runs(job="tick")[-1]
                ended = await bell.await_(first.id, timeout=60)
                assert (ended.status, ended.result) == (Status.SUCCEEDED, "ticked")
                assert ended.schedule is not None

        anyio.run(work)


def test_it_outlives_a_restart_of_the_server(tmp_path: Path) -> None:
    """What was written is there; neither a read nor a write fails when the server is back."""
    server = Server(tmp_path)
    store = open_store(server.url("lasting"))
    try:
        (first,) = add(store, request())
        server.stop()
        with pytest.raises(StoreUnavailable, match=r"lasting at 127.0.0.1:\d+: .*; see whether the server runs"):
            store.runs.find([first.id])
        server.start()
        (second,) = add(store, request())
        server.stop()
        server.start()
        store.services.put("host/1/2", "127.0.0.1:8321")  # the first call is a write, on a connection that is over
        assert set(store.runs.find([first.id, second.id])) == {first.id, second.id}
        assert set(ids(claim(store))) == {first.id, second.id}
    finally:
        store.close()
        server.stop()


def test_a_child_has_a_connection_of_its_own(url: str) -> None:
    """Two processes that share one would read each other's answers."""
    store = open_store(url)
    (run,) = add(store, request())
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if all(store.runs.find([run.id]) for _ in range(100)) else 2
        finally:
            os._exit(code)
    assert all(store.runs.find([run.id]) for _ in range(100))
    assert os.waitpid(child, 0)[1] == 0
    store.close()


class Mute:
    """A server that takes calls and hangs up on them, or keeps silent."""

    def __init__(self, *, hangs_up: bool) -> None:
        self.heard: list[bytes] = []
        self._hangs_up = hangs_up
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._kept: list[socket.socket] = []
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                there, _ = self._socket.accept()
            except OSError:
                return
            self.heard.append(there.makefile("rb").readline())
            self._kept.append(there)
            if self._hangs_up:
                there.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # ends its `accept`
        self._thread.join(30)
        for one in (self._socket, *self._kept):
            one.close()


@pytest.mark.parametrize(("again", "times"), [(True, 2), (False, 1)], ids=["read", "write"])
def test_only_a_read_is_sent_again(again: bool, times: int) -> None:
    """Whether a write was done is not known when its answer is lost."""
    from socket_store.connection import Connection

    mute = Mute(hangs_up=True)
    with pytest.raises(StoreUnavailable, match="closed before the answer came"):
        Connection("127.0.0.1", mute.port, "mute").call({}, again=again)
    assert mute.heard == [b"{}\n"] * times
    mute.close()


def test_a_call_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    mute = Mute(hangs_up=False)
    store = open_store(f"socketdb://127.0.0.1:{mute.port}/mute")
    monkeypatch.setattr("socket_store.connection.DEADLINE", 0.2)
    with ThreadPoolExecutor(2) as threads:  # also for the one that waits for its turn
        for call in [threads.submit(store.check) for _ in range(2)]:
            with pytest.raises(StoreUnavailable, match=r"mute at 127.0.0.1:\d+: (timed out|no turn)"):
                call.result(20)
    mute.close()


def test_a_connection_of_the_callers_is_refused(url: str) -> None:
    with Workbell(url) as bell:
        bell.job(name="work")(lambda: None)
        with pytest.raises(WrongConnection, match="leave connection= out"):
            bell.enqueue("work", connection=sqlite3.connect(":memory:"))
        assert bell.runs() == []


@pytest.mark.parametrize("rest", ["", "127.0.0.1/x", "127.0.0.1:7420", "127.0.0.1:7420/../x", "me:secret@host:1/x"])
def test_a_url_that_cannot_be_read(rest: str) -> None:
    with pytest.raises(InvalidUrl, match=r"socketdb://host:port/name") as caught:
        open_store(f"socketdb://{rest}")
    assert "secret" not in str(caught.value)


def test_opening_connects_to_nothing() -> None:
    open_store("socketdb://127.0.0.1:1/x").close()


@pytest.mark.parametrize("command", ["doctor", "migrate --dump-sql", "copy --to sqlite:///copy.db"])
def test_commands_on_it(command: str, url: str, site: list[Path], tmp_path: Path) -> None:
    """None of them takes it for one of our own engines because of the SQL that it speaks."""
    with Workbell(url) as bell:
        bell.store.check()
    path = os.pathsep.join(map(str, [SOURCE, *site]))
    answer = call(tmp_path, *command.split(), "--url", url, PYTHONPATH=path)
    assert (answer.code, answer.error) == (0, ""), answer
    if command == "doctor":
        assert re.search(r"test_\w+ at 127.0.0.1:\d+, which answers in", " ".join(answer.out.split())), answer
