"""The supervisor's handle of one child process: start, messages, stop, kill."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from multiprocessing.context import BaseContext
from queue import SimpleQueue
from typing import Any

from workbell.engine.journal import Note, journal_size, read_notes
from workbell.notices.push_message import Broadcast, SendToUser
from workbell.process.identity import process_start, running_of
from workbell.process.platform import process_context
from workbell.workers.child import main
from workbell.workers.messages import Message, Stop
from workbell.workers.pipe import Pipe
from workbell.workers.task import ChildKind, Task, encode_task

MOST_WAITING = 10_000  # messages to a child
CODE_WAIT = 1.0  # seconds for the exit code of a child that has ended
LAST = 1.5  # seconds after the grace before a child is killed
PRELOAD = [
    "workbell.engine.handler_processes.preload",
    "workbell.workers.child",
    # What its Workbell would load as soon as it works. Loaded here, it is there once for all children.
    "workbell.bulk.job",
    "workbell.webhooks.alerts",
    "workbell.webhooks.delivery",
    "workbell.stores.sqlite.store",
    "workbell.stores.postgres.store",
]


def make_context() -> BaseContext:
    """Children are forked from a small process that has loaded Workbell, and nothing of the application's; elsewhere
    than on Linux they are started from nothing."""
    return process_context(PRELOAD)


class Child:
    """A process and the pipe to it. Its worker id is known once it has started."""

    def __init__(
        self, context: BaseContext, task: Task, default_concurrency: int, http: socket.socket | None = None
    ) -> None:
        self.task = task
        self.worker: str | None = None
        self.started = False
        self.end_by: float | None = None  # asked to end, because it is replaced or all end
        self.cut = False  # killed because it did not, or ended with runs that it could not hand back
        self.unreachable = False  # it has said that it cannot go on, for lack of a store
        self.ended_well = False  # it has sent WorkerShutdown: it holds no run
        self.stopped_at: float | None = None  # since when the system says that it is stopped, as far as we saw
        self.stop_logged = False  # in the log
        self.hindered = False  # killed, because it was stopped with the write lock of a SQLite file
        self.handed_over: set[str] = set()  # runs whose outcomes it has sent, for the keeper
        self.overdue: list[str] = []  # runs that outlasted their time, for which it was killed
        self.booked = 0
        self.memory = 0
        self.began_at = time.monotonic()
        self._shared: Any = None
        if task.kind is ChildKind.WORKER:
            self._shared = context.RawArray("B", journal_size(task.concurrency or default_concurrency))
        here, there = context.Pipe()
        self.pipe = Pipe(here, task.name)
        self._process = context.Process(  # type: ignore[attr-defined]
            target=main, args=[encode_task(task), there, self._shared, http], name=f"workbell-{task.name}"
        )
        self._process.start()
        there.close()
        self._born = process_start(self.pid)
        self._to_send: SimpleQueue[Message | None] = SimpleQueue()
        threading.Thread(target=self._send_all, name=f"workbell-to-{task.name}", daemon=True).start()

    @property
    def pid(self) -> int:
        pid: int = self._process.pid
        return pid

    @property
    def kind(self) -> ChildKind:
        return self.task.kind

    @property
    def sentinel(self) -> int:
        """Ready to be read when the process has ended."""
        sentinel: int = self._process.sentinel
        return sentinel

    def exit_code(self) -> int | None:
        """How it ended, once `sentinel` is ready. Without a fork server that is when its files are closed, and the
        system knows the code some moments later."""
        end = time.monotonic() + CODE_WAIT
        code: int | None = self._process.exitcode
        while code is None and time.monotonic() < end:
            time.sleep(0.002)
            code = self._process.exitcode
        return code

    @property
    def lived(self) -> float:
        return time.monotonic() - self.began_at

    def notes(self) -> list[Note]:
        """Entries of its journal; also after its death."""
        return [] if self._shared is None else read_notes(self._shared)

    def send(self, message: Message) -> None:
        """Queue a message. Never waits: a child that does not read must not block us; it may miss notifications."""
        if self._to_send.qsize() < MOST_WAITING or not isinstance(message, SendToUser | Broadcast):
            self._to_send.put(message)

    def _send_all(self) -> None:
        while (message := self._to_send.get()) is not None:
            self.pipe.send(message)

    def retire(self, *, at_once: bool = False) -> None:
        """Ask it to end; `end_by` is when it should have."""
        self.end_by = time.monotonic() + (0 if at_once else self.task.grace) + LAST
        self.send(Stop(at_once))

    def cut_short(self) -> None:
        """Kill a child that did not end in time; its executing runs are handed back."""
        self.cut = True
        self.kill()

    def is_alive(self) -> bool:
        """Whether there is still a process; its number may be another's by now."""
        return process_start(self.pid) == self._born and running_of([self.pid]) == [self.pid]

    def kill(self) -> None:
        if process_start(self.pid) == self._born:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def bury(self) -> None:
        """After its end: give back what belongs to us."""
        # If the forkserver has died, nothing reports the end of this child, and it may still live.
        self.kill()
        self._process.join()
        self._to_send.put(None)
        self.pipe.close()
        self._process.close()
