"""Names and states of processes, with /proc and without."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.waiting import until
from workbell.process.identity import (
    STOPPED,
    is_gone,
    memory_in_use,
    process_name,
    process_start,
    process_state,
    process_states,
    process_title,
    running_of,
)
from workbell.process.platform import platform

WAYS = ["auto", "plain"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    yield process
    process.kill()
    process.wait(30)


@pytest.mark.parametrize("way", WAYS)
def test_the_life_of_a_process(monkeypatch: pytest.MonkeyPatch, way: str, sleeper: subprocess.Popen[bytes]) -> None:
    monkeypatch.setenv("WORKBELL_PLATFORM", way)
    pid, here = sleeper.pid, socket.gethostname()
    name = f"{here}/{pid}/{process_start(pid)}"
    assert (process_start(pid) == "") is (way == "plain")
    assert running_of([pid, os.getpid()]) == [pid, os.getpid()]
    assert not is_gone(name)
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: process_state(pid) in STOPPED, "it to be stopped")
    assert running_of([pid, os.getpid()]) == [os.getpid()]
    assert not is_gone(name)
    sleeper.kill()
    until(lambda: process_state(pid) == "Z", "it to be dead, and not waited for")
    assert running_of([pid]) == []
    sleeper.wait(30)
    assert process_states([pid]) == {pid: ""}
    assert running_of([pid]) == []
    assert is_gone(name)
    assert not is_gone(f"elsewhere/{pid}/{process_start(pid)}")
    assert not is_gone("")


@pytest.mark.parametrize("way", WAYS)
def test_memory_and_title(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setenv("WORKBELL_PLATFORM", way)
    assert 1 << 20 < memory_in_use() < 1 << 34
    assert process_title(os.getpid())


def test_neither_proc_nor_ps(monkeypatch: pytest.MonkeyPatch, sleeper: subprocess.Popen[bytes]) -> None:
    monkeypatch.setenv("WORKBELL_PLATFORM", "plain")
    monkeypatch.setenv("PATH", "/nowhere")
    assert process_state(sleeper.pid) == ""
    assert running_of([sleeper.pid]) == [sleeper.pid]
    sleeper.kill()
    sleeper.wait(30)
    assert running_of([sleeper.pid]) == []


def test_another_process_with_its_number() -> None:
    """With /proc the start of a process distinguishes it from the one that had its number before."""
    host, pid, started = process_name().split("/")
    assert is_gone(f"{host}/{pid}/{int(started or 0) + 1}") is platform().proc


def test_one_whose_start_is_not_known() -> None:
    """A name from a process without /proc, read by one that has it."""
    host, pid, _ = process_name().split("/")
    assert not is_gone(f"{host}/{pid}/")


def test_a_forked_child_has_a_name_of_its_own() -> None:
    """The start of a process is read once, and a child is another process."""
    before = process_name()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, process_name().encode())
        os._exit(0)
    os.waitpid(child, 0)
    name = os.read(read, 1000).decode()
    os.close(read)
    os.close(write)
    assert name.split("/")[1] == str(child)
    assert name != before == process_name()
    assert bool(name.split("/")[2]) is platform().proc
