"""The file lock: processes take turns, with an end to waiting, and no interrupt keeps the lock for ever."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.interrupts import every_point
from tests.support.waiting import until
from workbell.errors import StoreUnavailable
from workbell.process.platform import VARIABLE
from workbell.stores.sqlite import locks
from workbell.stores.sqlite.locks import FileLock, is_marked_open

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def with_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    """These are tests of `flock` itself, also where the others do without."""
    monkeypatch.setenv(VARIABLE, "auto")


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


def test_without_flock_it_is_always_free(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then SQLite's own lock alone keeps writers apart."""
    monkeypatch.setenv(VARIABLE, "plain")
    with FileLock(path) as lock, hold(path):
        lock.acquire(0)
        lock.release()


def test_a_process_that_dies_lets_go(path: Path) -> None:
    with FileLock(path) as lock, hold(path) as other:
        other.kill()
        lock.acquire(30)
        lock.release()


def test_a_wait_may_be_interrupted_anywhere(path: Path) -> None:
    """The thread that waits gets the lock later; it must not keep it from everybody for ever."""
    for interrupt in every_point(locks):
        with FileLock(path) as holding, FileLock(path) as lock, FileLock(path) as another:
            holding.acquire(30)  # the thread of the round before may have it for a moment
            try:
                interrupt.call(lambda lock=lock: lock.acquire(0.01))  # type: ignore[misc]
            except (KeyboardInterrupt, StoreUnavailable):
                pass
            finally:
                lock.release()  # as everybody does who takes it, on every way out
            holding.release()
            another.acquire(10)
            another.release()


class Waited(FileLock):
    """One that tells when it has to wait."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.waits = threading.Event()

    def _wait(self, timeout: float) -> None:
        self.waits.set()
        super()._wait(timeout)


def test_a_lock_that_came_may_be_interrupted_anywhere(path: Path) -> None:
    for interrupt in every_point(locks):
        with FileLock(path) as holding, Waited(path) as lock, FileLock(path) as another:
            holding.acquire(30)

            def let_go(holding: FileLock = holding, lock: Waited = lock) -> None:
                assert lock.waits.wait(30)
                holding.release()

            other = threading.Thread(target=let_go)
            other.start()
            try:
                interrupt.call(lambda lock=lock: lock.acquire(30))  # type: ignore[misc]
            except KeyboardInterrupt:
                assert interrupt.where
            finally:
                lock.release()  # as everybody does who takes it, on every way out
                lock.waits.set()
            other.join(30)
            another.acquire(10)
            another.release()


class TestMarks:
    def test_of_one_alone(self, path: Path) -> None:
        with FileLock(path) as restoring, FileLock(path) as other:
            assert restoring.mark_open(alone=True)
            assert is_marked_open(path)
            assert is_marked_open(path, alone=True)
            assert not other.mark_open()

    def test_of_several(self, path: Path) -> None:
        with FileLock(path) as one, FileLock(path) as other:
            assert one.mark_open()
            assert other.mark_open()
            assert is_marked_open(path)
            assert not is_marked_open(path, alone=True)
            assert not other.mark_open(alone=True)

    def test_a_file_system_without_them(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> int:
            raise OSError(errno.EINVAL, "Invalid argument")

        monkeypatch.setattr(locks, "_lock_open_file", refuse)
        with FileLock(path) as lock:
            assert lock.mark_open()
            assert not is_marked_open(path)


def test_an_abandoned_wait_leaves_no_descriptor(path: Path) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    with FileLock(path) as holding, FileLock(path) as lock:
        before = opened()
        holding.acquire(0)
        with pytest.raises(StoreUnavailable):
            lock.acquire(0.01)
        holding.release()
        until(lambda: opened() <= before, "the waiting thread to close its descriptor")


def test_a_note_is_never_seen_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes may write theirs at once, and a third one may read."""
    path = tmp_path / "w.db-lock"
    with FileLock(path) as first, FileLock(path) as second:
        first.write_note(b'{"lost":"was deleted"}')
        size = path.stat().st_size
        write, sizes = os.write, [size]

        def see(descriptor: int, content: bytes) -> int:
            sizes.append(path.stat().st_size)
            return write(descriptor, content)

        monkeypatch.setattr(os, "write", see)
        second.write_note(b"{}")
        second.write_note(b'{"lost":"was replaced by another file"}')
        assert set(sizes) == {size}
        assert path.read_bytes().strip() == b'{"lost":"was replaced by another file"}'
