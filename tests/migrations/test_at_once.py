"""Many that start or migrate at the same moment: every migration is applied once, and all of them work."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.next_version import NAME, next_version
from tests.support.processes import Site
from tests.support.waiting import until
from workbell.app import open_store
from workbell.stores.port import Filter, Store
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


def at_once(url: str, act: Callable[[Store], list[str]]) -> list[list[str]]:
    """In threads, with a store each, which begin together."""
    gate = threading.Barrier(MANY)

    def one(_number: int) -> list[str]:
        with closing(open_store(url)) as store:
            gate.wait(30)
            done = act(store)
            store.check()
            store.runs.add([request()])
            return done

    with ThreadPoolExecutor(MANY) as threads:
        return sorted(threads.map(one, range(MANY)))


def runs_in(url: str) -> int:
    with closing(open_store(url)) as store:
        return len(store.runs.list(Filter(None)))


def test_threads_that_make_the_tables(empty_url: str) -> None:
    engine = "sqlite" if empty_url.startswith("sqlite") else "postgres"
    everything = [name for _, name, _ in migrations(engine)]
    assert at_once(empty_url, lambda store: store.migrate()) == [[], [], [], everything]
    assert runs_in(empty_url) == MANY


def test_threads_that_make_the_tables_of_the_next_version(empty_url: str, tmp_path: Path) -> None:
    """All of its migrations at once, as a new user of it has them."""
    engine = "sqlite" if empty_url.startswith("sqlite") else "postgres"
    with next_version(tmp_path / "next").here():
        everything = [name for _, name, _ in migrations(engine)]
        assert everything[-1] == NAME
        assert at_once(empty_url, lambda store: store.migrate()) == [[], [], [], everything]
    assert runs_in(empty_url) == MANY


def test_processes_that_make_the_tables(empty_url: str) -> None:
    command = [sys.executable, "-c", PROCESS, empty_url]
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
    assert runs_in(empty_url) == MANY


def test_processes_of_the_next_version(sql_store_url: str, tmp_path: Path) -> None:
    version = next_version(tmp_path / "next")
    with Site(tmp_path, sql_store_url) as site:
        started = [site.start(*version.arguments("migrate"), program="next_version") for _ in range(MANY)]
        until(lambda: [event["kind"] for event in site.events()].count("waiting") == MANY, "all to be there", 60)
        site.open_gate("go")
        assert [process.wait(60) for process in started] == [0] * MANY
        applied = [event["applied"] for event in site.events() if event["kind"] == "migrated"]
    assert sorted(applied) == [[], [], [], [NAME]]


def test_one_that_takes_long_is_not_cut_off(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of a long history takes longer to make than any other call may take."""
    monkeypatch.setattr(calls, "DEADLINE", 0.01)
    monkeypatch.setattr(deadlines, "PACE", 0.01)
    slow = next_version(tmp_path / "next", text="SELECT pg_sleep(0.5);\n")
    with slow.here(), closing(open_store(postgres_url)) as store:
        assert store.migrate() == [NAME]
