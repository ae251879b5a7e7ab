"""A fork after use: parent and child have connections of their own, and neither loses what it was told is written."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.test_sqlite_file import file_of, rows
from tests.support.waiting import until
from workbell import StoreError, Workbell
from workbell.handlers.known_events import known_events


class Child:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status = -1


class forked:  # noqa: N801  reads like a word
    """Runs a function in a forked child for the length of a block; its exit status afterwards is 0 if it was well."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work

    def __enter__(self) -> Child:
        pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(60)
                self._work()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        self._child = Child(pid)
        return self._child

    def __exit__(self, *_: object) -> None:
        self._child.status = os.waitpid(self._child.pid, 0)[1]


class TestSqlite:
    """SQLite's locks do not survive a fork: see stores/sqlite/forks.py."""

    def test_after_use(self, path: Path, bell: Workbell) -> None:
        """Parent and child each open their own; what the child wrote survives the parent's closing the file."""
        first = bell.enqueue("work")
        read, write = os.pipe()

        def child() -> None:
            bell.get(first.id)
            mine = [bell.enqueue("work").id]
            assert os.read(read, 1) == b"c"
            mine += [bell.enqueue("work").id for _ in range(3)]
            path.with_name("made").write_text("\n".join(mine))
            os.kill(os.getpid(), signal.SIGKILL)  # so that only what was committed counts

        with forked(child) as pid:
            second = bell.enqueue("work")
            until(lambda: len(bell.runs()) == 3, "the child's first run")
            file_of(bell).close()
            os.write(write, b"c")
        os.close(read)
        os.close(write)
        assert os.waitstatus_to_exitcode(pid.status) == -signal.SIGKILL
        made = path.with_name("made").read_text().split()
        assert {run.id for run in bell.runs()} == {first.id, second.id, *made}
        assert len(made) == 4
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]

    def test_connections_are_not_shared(self, bell: Workbell) -> None:
        bell.enqueue("work")
        before = file_of(bell).writer

        def child() -> None:
            bell.enqueue("work")
            assert file_of(bell).writer is not before

        with forked(child) as pid:
            pass
        assert pid.status == 0
        bell.enqueue("work")
        assert len(bell.runs()) == 3

    def test_while_others_read_and_write(self, bell: Workbell) -> None:
        """Threads of the parent go on, and every child can work."""
        stop = threading.Event()
        failures: list[str] = []
        made: list[str] = [bell.enqueue("work").id]

        def busy() -> None:
            while not stop.is_set():
                try:
                    made.append(bell.enqueue("work").id)
                    bell.get(made[-1])
                except Exception:
                    failures.append(traceback.format_exc())

        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                with forked(lambda: bell.enqueue("work")) as pid:
                    pass
                assert pid.status == 0
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert not failures, failures[0]
        assert bell.store.runs.find(made).keys() == set(made)
        assert sum(counts.queued for counts in bell.store.reports.counts()) == len(made) + 10

    def test_carried_in_use(self, bell: Workbell) -> None:
        """Somebody holds a connection that cannot be closed: the child is refused, with the remedy."""
        bell.enqueue("work")
        watch = bell.store.watch()

        def child() -> None:
            with pytest.raises(StoreError, match=r"forked while its parent .* spawn"):
                bell.enqueue("work")

        with forked(child) as pid:
            pass
        assert pid.status == 0
        watch.close()
        bell.enqueue("work")


def test_what_is_kept_of_events_and_triggers(path: Path, bell: Workbell) -> None:
    """A thread was just reading triggers, or an event, when its process was forked."""
    event = bell.emit("posts.created")

    def child() -> None:
        assert bell.events.match("posts.created") == []
        assert known_events.find(bell.store, event.id) == event

    with bell.runtime.subscriptions._lock, known_events._lock, forked(child) as pid:
        pass
    assert pid.status == 0
    assert known_events.find(bell.store, event.id) == event


def test_postgres(postgres_url: str) -> None:
    with Workbell(postgres_url) as bell:

        @bell.job
        def work() -> None: ...

        made = [work.enqueue().id]

        def child() -> None:
            for _ in range(50):
                work.enqueue()
            assert bell.get(made[0]).id == made[0]

        with forked(child) as pid:
            made += [work.enqueue().id for _ in range(50)]  # at the same time: on one socket this would break
        assert pid.status == 0
        assert len(bell.runs(limit=1000)) == 101
        assert bell.store.runs.find(made).keys() == set(made)


def test_async_verbs_and_waits(sql_store_url: str) -> None:
    """The threads behind them are not there in the child: it makes its own."""
    with Workbell(sql_store_url) as bell:

        @bell.job
        def work() -> None: ...

        run = asyncio.run(work.aenqueue())
        bell.cancel(run.id)
        assert bell.wait(run.id, timeout=30).id == run.id

        def child() -> None:
            mine = asyncio.run(work.aenqueue())
            bell.cancel(mine.id)
            assert bell.wait(mine.id, timeout=30).id == mine.id

        for _ in range(5):
            with forked(child) as pid:
                pass
            assert pid.status == 0
