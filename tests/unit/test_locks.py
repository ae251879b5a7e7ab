"""Turns at writing: in the order of asking, renewals first, and with an end to waiting."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.waiting import until
from workbell.errors import StoreUnavailable
from workbell.stores.sqlite.locks import FairLock, FileLock


def ask(lock: FairLock, order: list[str], name: str, *, first: bool = False) -> threading.Thread:
    """A thread that waits for its turn, notes its name, and hands the turn on."""
    before = len(lock._waiting)

    def work() -> None:
        assert lock.acquire(30, first=first)
        order.append(name)
        lock.release()

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: len(lock._waiting) == before + 1, f"{name} to wait in line")
    return thread


def test_turns_are_handed_on_in_the_order_of_asking() -> None:
    lock, order = FairLock(), list[str]()
    assert lock.acquire(0)
    threads = [ask(lock, order, str(number)) for number in range(5)]
    lock.release()
    for thread in threads:
        thread.join(30)
    assert order == ["0", "1", "2", "3", "4"]
    assert lock.acquire(0)


def test_a_renewal_goes_to_the_front() -> None:
    lock, order = FairLock(), list[str]()
    assert lock.acquire(0)
    threads = [ask(lock, order, "write 1"), ask(lock, order, "write 2"), ask(lock, order, "renewal", first=True)]
    lock.release()
    for thread in threads:
        thread.join(30)
    assert order == ["renewal", "write 1", "write 2"]


def test_a_turn_is_handed_on_and_cannot_be_snatched() -> None:
    """Somebody who comes at the moment of release gets in line behind those who waited."""
    lock, go, had_turn = FairLock(), threading.Event(), threading.Event()
    assert lock.acquire(0)

    def work() -> None:
        assert lock.acquire(30)
        had_turn.set()
        assert go.wait(30)
        lock.release()

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: len(lock._waiting) == 1, "the thread to wait in line")
    lock.release()
    assert not lock.acquire(0)
    assert had_turn.wait(30)
    go.set()
    thread.join(30)
    assert lock.acquire(0)


def test_waiting_has_an_end_and_leaves_no_trace() -> None:
    lock = FairLock()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)
    assert not lock.acquire(0.01, first=True)
    assert len(lock._waiting) == 0
    lock.release()
    assert lock.acquire(0)


def test_many_threads_never_hold_it_together() -> None:
    lock, inside, most = FairLock(), [0], [0]

    def work(number: int) -> None:
        for step in range(300):
            assert lock.acquire(30, first=(number + step) % 7 == 0)
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            inside[0] -= 1
            lock.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1]
    assert lock.acquire(0)


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workbell.db-lock"


def hold(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its standard input closes."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_processes_take_turns(path: Path) -> None:
    with FileLock(path) as lock, hold(path) as other:
        done = threading.Event()

        def work() -> None:
            lock.acquire(30)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        assert not done.wait(0.05)
        assert other.stdin is not None
        other.stdin.close()
        assert done.wait(30)
        thread.join(30)
        lock.release()


def test_a_process_that_never_lets_go_is_named_after_the_deadline(path: Path) -> None:
    with FileLock(path) as lock:
        with hold(path) as other:
            with pytest.raises(StoreUnavailable, match=r"another process held the write lock for over 0\.05 s; see"):
                lock.acquire(0.05)
            assert other.stdin is not None
            other.stdin.close()
        # The lock of the abandoned try must not be left behind: it would shut everybody out for good.
        lock.acquire(30)
        lock.release()


def test_a_process_that_dies_lets_go(path: Path) -> None:
    with FileLock(path) as lock, hold(path) as other:
        other.kill()
        lock.acquire(30)
        lock.release()
