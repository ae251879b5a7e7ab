"""Many that start at once on an empty store: it is set up once, and all of them work."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from workbell.app import open_store
from workbell.stores import migrate
from workbell.stores.port import Filter
from workbell.stores.postgres import calls, deadlines
from workbell.stores.queries import migrations
from workbell.testing.contracts.making import request

MANY = 4
PROCESS = """
import sys
from workbell.app import open_store
from workbell.testing.contracts.making import request

store = open_store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
store.check()
store.runs.add([request()])
store.close()
"""


@pytest.fixture(params=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"empty_{request.param}_url")
    return url


def test_threads_with_a_store_each(new_url: str) -> None:
    gate = threading.Barrier(MANY)

    def bring_up(_number: int) -> list[str]:
        store = open_store(new_url)
        try:
            gate.wait(30)
            done = store.migrate()
            store.check()
            store.runs.add([request()])
            return done
        finally:
            store.close()

    with ThreadPoolExecutor(MANY) as threads:
        done = list(threads.map(bring_up, range(MANY)))
    engine = "sqlite" if new_url.startswith("sqlite") else "postgres"
    assert sorted(map(len, done)) == [0, 0, 0, len(migrations(engine))]
    store = open_store(new_url)
    assert len(store.runs.list(Filter(None))) == MANY
    store.close()


def test_processes(new_url: str) -> None:
    command = [sys.executable, "-c", PROCESS, new_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, **pipes) for _ in range(MANY)]
    try:
        for process in started:
            assert process.stdout.readline() == "ready\n"
        for process in started:
            process.stdin.write("go\n")
            process.stdin.flush()
        ended = [process.communicate(timeout=60) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert "".join(errors for _, errors in ended) == ""
    assert [process.returncode for process in started] == [0] * MANY
    store = open_store(new_url)
    assert len(store.runs.list(Filter(None))) == MANY
    store.close()


def test_one_that_takes_long_is_not_cut_off(empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of a long history takes longer to make than any other call may take."""
    monkeypatch.setattr(calls, "DEADLINE", 0.01)
    monkeypatch.setattr(deadlines, "PACE", 0.01)
    store = open_store(empty_postgres_url)
    real = migrations("postgres")
    slow = [*real, (len(real) + 1, "slow", "SELECT pg_sleep(0.5)")]
    monkeypatch.setattr(migrate, "migrations", lambda _engine: slow)
    try:
        assert store.migrate()[-1] == "slow"
    finally:
        store.close()
