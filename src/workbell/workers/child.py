"""Child process of the supervisor: loads the jobs, runs a worker or the server, and ends with the supervisor."""

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

from workbell.app import Workbell
from workbell.boot.recipe import load_jobs, make
from workbell.engine.engine import Engine
from workbell.engine.finish import KeptOutcome
from workbell.engine.journal import Journal
from workbell.engine.role import Role
from workbell.engine_host import Stop
from workbell.errors import StoreUnavailable, WorkbellError
from workbell.handlers.app_database import file_of
from workbell.logs import set_up
from workbell.model.ids import new_id
from workbell.notices.push_message import Broadcast, SendToUser
from workbell.notices.run_log import log_change
from workbell.process.identity import memory_in_use, name_process
from workbell.workers import messages
from workbell.workers.keeper import Keeper
from workbell.workers.messages import (
    ChildHeartbeat,
    ExecutingRun,
    OutcomesKept,
    StoreNamed,
    WorkerError,
    WorkerShutdown,
    WorkerStarted,
)
from workbell.workers.pipe import Pipe
from workbell.workers.task import ChildKind, Task, decode_task

log = logging.getLogger("workbell.workers")

BEAT = 1.0
START = 10.0  # seconds from the announcement to the engine's start
LAST_WORD = 0.2  # seconds to tell the supervisor why this process ends
LAST = 2.5  # seconds after the grace; the supervisor, if there is one, has lost its patience before
MOST_REPORTED = 100  # executing runs in one heartbeat
BUG = 70
FORCED = 75


def main(encoded: bytes, connection: Connection, memory: Any, http: socket.socket | None = None) -> None:
    """Entry point of a child process."""
    task = decode_task(encoded)
    pipe = Pipe(connection, "the supervisor")
    # An interrupt at the terminal goes to every process there; the supervisor decides what follows from it.
    # Handled, not ignored: SIG_IGN survives exec, so programs that handlers start would ignore them too.
    ignored = [signal.SIGINT, signal.SIGHUP, *([] if task.kind is ChildKind.WORKER else [signal.SIGTERM])]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    name_process(f"workbell {task.name}")
    settings = task.recipe.settings
    set_up(settings.log_level, settings.log_format)
    try:
        if task.kind is ChildKind.KEEPER:
            assert task.store is not None
            Keeper(task.store, pipe).run()
        else:
            _Child(task, pipe, memory, http).run()
    except WorkbellError as error:
        pipe.send(WorkerError(str(error), error.exit_code))
        sys.exit(error.exit_code)
    except Exception as error:
        log.exception("%s failed", task.name)
        pipe.send(WorkerError(f"{type(error).__name__}: {error}", BUG))
        sys.exit(BUG)


class _Child:
    """A worker, or the server: an engine, a thread that receives messages, and one that sends heartbeats."""

    def __init__(self, task: Task, pipe: Pipe, memory: Any, http: socket.socket | None) -> None:
        self._task = task
        self._pipe = pipe
        self._memory = memory
        self._http = http  # where the API is served, if this is the server
        self._bell: Workbell | None = None
        self._announced = False
        self._worker = ""
        self._started = threading.Event()
        self._stop: Stop = lambda _at_once: None
        self._ended = threading.Event()

    def run(self) -> None:
        # From the first moment on: what it loads may take for ever, and the supervisor be gone meanwhile.
        threading.Thread(target=self._receive, name="workbell-ear", daemon=True).start()
        works = self._task.kind is ChildKind.WORKER
        with make(self._task.recipe) as bell:
            role = Role(
                self._task.queues,
                self._task.concurrency,
                schedules=not works,
                works=works,
                journal=Journal(self._memory) if works else None,
                probed=self._task.probed,
                give_up=self._give_up if works else None,
                hand_over=self._hand_over if works else None,
                announce=lambda worker: self._announce(bell, worker),
            )
            load_jobs(bell, self._task.recipe.folder, schedules=not works, log_problems=self._task.reports)
            bell.runtime.hooks.post = self._pipe.send
            bell.engine.on_change(log_change)
            if self._task.watch:
                bell.engine.watch()
            self._bell = bell
            asyncio.run(self._serve(bell, role))
        self._ended.set()

    def _announce(self, bell: Workbell, worker: str) -> None:
        """Sent before the first claim: if the first run kills this process, the supervisor knows its worker id."""
        logs = self._task.recipe.settings
        set_up(logs.log_level, logs.log_format, worker_id=worker)
        self._announced = True
        self._worker = worker
        settings = bell.settings
        retention = (settings.keep_succeeded, settings.keep_other)
        file = file_of(bell.store)
        path = None if file is None else str(file.absolute())
        poll = settings.poll_pace
        queue, lease = settings.queue_url, settings.lease
        self._pipe.send(StoreNamed(settings.url, lease, *retention, bell.tenant, path, queue, poll))
        self._pipe.send(WorkerStarted(worker, os.getpid(), len(bell.registry), poll))

    async def _serve(self, bell: Workbell, role: Role) -> None:
        engines: list[Engine] = []

        def started(engine: Engine, stop: Stop) -> None:
            engines.append(engine)
            self._stop = stop
            self._started.set()
            if role.works:
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._end, False)
            threading.Thread(target=self._beat, args=[engine], name="workbell-beat", daemon=True).start()

        handed_back = await bell.host.serve(role, started, self._task.grace, self._http)
        self._pipe.send(WorkerShutdown(engines[0].worker, handed_back, engines[0].holds_nothing))

    def _receive(self) -> None:
        while True:
            match self._pipe.receive():
                case messages.Stop(at_once):
                    self._end(at_once)
                case SendToUser() | Broadcast() as message:
                    if self._bell is not None:
                        self._bell.host.bus.send(message)
                case _:  # the supervisor is gone
                    self._end(False)
                    return

    def _end(self, at_once: bool) -> None:
        if not self._announced:  # still loading: it holds no run
            os._exit(0)
        self._started.wait(START)
        # A handler that swallows its cancellation, or a thread that it started, could keep this process alive for ever.
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
                for work in engine.executing[:MOST_REPORTED]
                if work.begun is not None
            ]
            silent, drained = engine.pulse.silent(), engine.drained
            self._pipe.send(ChildHeartbeat(engine.worker, executing, engine.booked, memory_in_use(), silent, drained))

    def _hand_over(self, outcomes: list[KeptOutcome]) -> bool:
        return self._pipe.send(OutcomesKept(new_id(), self._worker, outcomes))

    def _give_up(self, why: str) -> NoReturn:
        log.error("this worker ends before its leases do: %s", why)
        # In a thread: a pipe that the supervisor does not read would keep this process, and its handlers, alive.
        last_word = WorkerError(why, StoreUnavailable.exit_code)
        telling = threading.Thread(target=self._pipe.send, args=[last_word], daemon=True)
        telling.start()
        telling.join(LAST_WORD)
        logging.shutdown()
        os._exit(StoreUnavailable.exit_code)
