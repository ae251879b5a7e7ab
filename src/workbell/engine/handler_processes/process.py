"""Handler process, seen from the worker: start it, send it runs, receive its answers, kill it.

multiprocessing is imported when the first process is started: most workers never start one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbell.engine.handler_processes.entry import Entry, begin
from workbell.engine.handler_processes.messages import Execute, Message, decode, encode
from workbell.handlers.job_function import JobFunction
from workbell.process.platform import process_context

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

END = 5.0  # seconds to end by itself, when it is no longer needed
PRELOADED = (
    "workbell.engine.handler_processes.preload",
    "workbell.boot.handler_process",
    "workbell.boot.recipe",
    "workbell.job_files.job_folder",  # part of every Workbell that executes
)
STORES = ("workbell.stores.sqlite.store", "workbell.stores.postgres.store")

Jobs = Mapping[str, JobFunction[Any, Any]]


class NoAnswerInTime(Exception):
    """The process has not answered in time."""


class IsolatedProcess:
    """Used by one thread; only `kill` may be called by others. `jobs` is what was declared when it was started."""

    def __init__(self, entry: Entry, jobs: Jobs) -> None:
        self.jobs = jobs
        self.runs = 0
        self._lock = threading.Lock()
        self._gone = False
        context = _context()
        self._connection, theirs = context.Pipe()
        watched, self._lifeline = context.Pipe(duplex=False)
        self._process = context.Process(target=begin, args=(theirs, watched, entry), name="workbell-isolated")
        try:
            self._process.start()
        except BaseException:
            self._connection.close()
            self._lifeline.close()
            raise
        finally:
            theirs.close()
            watched.close()
        _forget(self._process)
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def is_dead(self) -> bool:
        from multiprocessing.connection import wait

        return bool(wait([self._process.sentinel], 0))

    def send(self, message: Execute) -> bool:
        """Whether it could be sent; if not, the process is dying."""
        try:
            self._connection.send_bytes(encode(message))
        except OSError:
            return False
        return True

    def receive(self, timeout: float | None = None) -> Message | None:
        """The next message; none when the process is dead."""
        from multiprocessing.connection import wait

        connection: Connection = self._connection
        ready = wait([connection, self._process.sentinel], timeout)
        if not ready:
            raise NoAnswerInTime
        if connection in ready:
            with contextlib.suppress(EOFError, OSError):
                return decode.decode(connection.recv_bytes())
        return None

    def kill(self) -> None:
        """Kill the process group at once; from any thread."""
        with self._lock:
            if not self._gone:
                _kill(self.pid)

    def end(self) -> None:
        """Let the process end by itself, if it does so soon; then kill what it has left behind."""
        self._connection.close()
        self._process.join(END)
        self.bury()

    def bury(self) -> int | None:
        """Kill and join the process and everything that it started; its exit code, or minus the signal."""
        if self._process.exitcode is None:
            self._process.join(0.2)  # its pipe is closed, so that it is about to end
        with self._lock:
            _kill(self.pid, only_group=self._process.exitcode is not None)
        self._process.join(END)
        code: int | None = self._process.exitcode
        with self._lock:
            self._gone = True
        self._connection.close()
        self._lifeline.close()
        if code is not None:
            self._process.close()
        return code


def _context() -> Any:
    """Ours alone is loaded before, and of it what a worker has itself; without a list, the user's main program."""
    return process_context([*PRELOADED, *(name for name in STORES if name in sys.modules)])


def _forget(process: Any) -> None:
    """Remove the process from multiprocessing's list of children.

    multiprocessing would join it when the worker exits, and poll it from any thread that starts another process; an
    exit code can be read only once.
    """
    import multiprocessing.process

    getattr(multiprocessing.process, "_children", set()).discard(process)


def _kill(pid: int, *, only_group: bool = False) -> None:
    """The group of a dead process can have others in it; its own id may be somebody else's by now."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
            return
    if not only_group:  # it has not made its group yet, or there is nothing of the kind
        with contextlib.suppress(OSError):
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def how_it_ended(code: int | None) -> str:
    """How a process ended, as the rest of a sentence."""
    if code is None:
        return "could not be killed"
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"
    hint = ", perhaps for want of memory" if name == "SIGKILL" else ""
    return f"was killed by signal {-code} ({name}{hint})"
