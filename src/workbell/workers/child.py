"""A child of the supervisor: loads the jobs itself, runs a part of the engine, and ends when the supervisor does."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from workbell.app import Stop, Workbell
from workbell.boot.recipe import load_jobs, make
from workbell.engine.engine import Engine
from workbell.engine.journal import Journal
from workbell.engine.role import Role
from workbell.errors import StoreUnavailable, WorkbellError
from workbell.handlers.app_database import file_of
from workbell.logs import set_up
from workbell.notices.push_message import Broadcast, SendToUser
from workbell.notices.run_log import log_change
from workbell.process.identity import memory_in_use, name_process
from workbell.workers import messages
from workbell.workers.keeper import Keeper
from workbell.workers.messages import (
    ChildHeartbeat,
    ExecutingRun,
    StoreNamed,
    WorkerError,
    WorkerShutdown,
    WorkerStarted,
)
from workbell.workers.pipe import Pipe
from workbell.workers.task import ChildKind, Task, decode_task

log = logging.getLogger("workbell.workers")

BEAT = 1.0
START = 10.0  # seconds from the first word to the engine's start
LAST = 2.5  # seconds after the grace; the supervisor, if there is one, has lost its patience before
MOST_TOLD = 100  # of what is being executed
BUG = 70
FORCED = 75


def main(spelled: bytes, connection: Connection, memory: Any, http: socket.socket | None = None) -> None:
    """Where a child begins, in a process of its own."""
    task = decode_task(spelled)
    line = Pipe(connection, "the supervisor")
    # An interrupt at the terminal goes to every process there; the supervisor decides what follows from it.
    # Handled and not ignored, because a program that a handler starts would inherit being deaf.
    deaf = [signal.SIGINT, signal.SIGHUP, *([] if task.kind is ChildKind.WORKER else [signal.SIGTERM])]
    for number in deaf:
        signal.signal(number, lambda *_: None)
    name_process(f"workbell {task.name}")
    settings = task.recipe.settings
    set_up(settings.log_level, settings.log_format)
    try:
        if task.kind is ChildKind.KEEPER:
            assert task.store is not None
            Keeper(task.store, line).run()
        else:
            _Child(task, line, memory, http).run()
    except WorkbellError as error:
        line.send(WorkerError(str(error), error.exit_code))
        sys.exit(error.exit_code)
    except Exception as error:
        log.exception("%s failed", task.name)
        line.send(WorkerError(f"{type(error).__name__}: {error}", BUG))
        sys.exit(BUG)


class _Child:
    """A worker, or the server: an engine, a thread that hears the supervisor, and one that tells it of its life."""

    def __init__(self, task: Task, line: Pipe, memory: Any, http: socket.socket | None) -> None:
        self._task = task
        self._line = line
        self._memory = memory
        self._http = http  # where the API is served, if this is the server
        self._bell: Workbell | None = None
        self._announced = False
        self._started = threading.Event()
        self._stop: Stop = lambda _at_once: None
        self._ended = threading.Event()

    def run(self) -> None:
        # From the first moment on: what it loads may take for ever, and the supervisor be gone meanwhile.
        threading.Thread(target=self._hear, name="workbell-ear", daemon=True).start()
        works = self._task.kind is ChildKind.WORKER
        with make(self._task.recipe) as bell:
            role = Role(
                self._task.queues,
                self._task.concurrency,
                schedules=not works,
                works=works,
                board=Journal(self._memory) if works else None,
                give_up=self._give_up if works else None,
                announce=lambda worker: self._announce(bell, worker),
            )
            load_jobs(bell, self._task.recipe.folder, schedules=not works, tells=self._task.tells)
            bell.post = self._line.send  # type: ignore[assignment]  # it answers, and nobody asks
            bell.engine.on_change(log_change)
            if self._task.watch:
                bell.engine.watch()
            self._bell = bell
            asyncio.run(self._serve(bell, role))
        self._ended.set()

    def _announce(self, bell: Workbell, worker: str) -> None:
        """Before anything is claimed: should the first run kill this process, the supervisor knows whose it was."""
        logs = self._task.recipe.settings
        set_up(logs.log_level, logs.log_format, worker_id=worker)
        self._announced = True
        settings = bell.settings
        keeps = (settings.keep_succeeded, settings.keep_other)
        file = file_of(bell.store)
        path = None if file is None else str(file.absolute())
        self._line.send(StoreNamed(settings.url, settings.lease, *keeps, bell.tenant, path, settings.queue_url))
        self._line.send(WorkerStarted(worker, os.getpid(), len(bell.registry)))

    async def _serve(self, bell: Workbell, role: Role) -> None:
        names: list[str] = []

        def started(engine: Engine, stop: Stop) -> None:
            names.append(engine.worker)
            self._stop = stop
            self._started.set()
            if role.works:
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._end, False)
            threading.Thread(target=self._beat, args=[engine], name="workbell-beat", daemon=True).start()

        handed_back = await bell.serve(role, started, self._task.grace, self._http)
        self._line.send(WorkerShutdown(names[0], handed_back))

    def _hear(self) -> None:
        while True:
            match self._line.hear():
                case messages.Stop(at_once):
                    self._end(at_once)
                case SendToUser() | Broadcast() as message:
                    if self._bell is not None:
                        self._bell.bus.tell(message)
                case _:  # the supervisor is gone
                    self._end(False)
                    return

    def _end(self, at_once: bool) -> None:
        if not self._announced:  # still loading: there is nothing in its hands
            os._exit(0)
        self._started.wait(START)
        # A handler that swallows its cancellation, or a thread of its own, could keep this process for ever.
        patience = (0 if at_once else self._task.grace) + LAST
        last = threading.Timer(patience, self._force)
        last.daemon = True
        last.start()
        with suppress(RuntimeError):  # it has ended already
            self._stop(at_once)

    def _force(self) -> None:
        log.warning("%s does not end, and is cut short", self._task.name)
        os._exit(FORCED)

    def _beat(self, engine: Engine) -> None:
        clock = engine.clock
        while not self._ended.wait(BEAT):
            moment = clock.monotonic()
            executing = [
                ExecutingRun(work.run.id, work.run.job, moment - work.begun)
                for work in engine.executing[:MOST_TOLD]
                if work.begun is not None
            ]
            self._line.send(ChildHeartbeat(engine.worker, executing, engine.booked, memory_in_use()))

    def _give_up(self, why: str) -> NoReturn:
        log.error("this worker ends before its leases do: %s", why)
        self._line.send(WorkerError(why, StoreUnavailable.exit_code))
        logging.shutdown()
        os._exit(StoreUnavailable.exit_code)
