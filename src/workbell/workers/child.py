"""A child of the supervisor: loads the jobs itself, runs a part of the engine, and ends when the supervisor does."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from workbell.app import Stop, Workbell
from workbell.engine.board import Board
from workbell.engine.engine import Engine
from workbell.engine.role import Role
from workbell.errors import StoreUnavailable, WorkbellError
from workbell.logs import set_up
from workbell.machine import memory_in_use, name_process
from workbell.notices.message import Broadcast, SendToUser
from workbell.notices.run_log import log_change, log_runs
from workbell.recipe import load_jobs, make
from workbell.workers import messages
from workbell.workers.keeper import Keeper
from workbell.workers.line import Line
from workbell.workers.messages import Executing, Heartbeat, StoreNamed, WorkerError, WorkerShutdown, WorkerStarted
from workbell.workers.task import Kind, Task, decode_task

log = logging.getLogger("workbell.workers")

BEAT = 1.0
BUG = 70


def main(spelled: bytes, connection: Connection, memory: Any) -> None:
    """Where a child begins, in a process of its own."""
    task = decode_task(spelled)
    line = Line(connection, "the supervisor")
    # An interrupt at the terminal goes to every process there; the supervisor decides what follows from it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL if task.kind is Kind.WORKER else signal.SIG_IGN)
    name_process(f"workbell {task.name}")
    settings = task.recipe.settings
    set_up(settings.log_level, settings.log_format)
    try:
        if task.kind is Kind.KEEPER:
            assert task.store is not None
            Keeper(task.store, line).run()
        else:
            _Child(task, line, memory).run()
    except WorkbellError as error:
        line.send(WorkerError(str(error), error.exit_code))
        sys.exit(error.exit_code)
    except Exception as error:
        log.exception("%s failed", task.name)
        line.send(WorkerError(f"{type(error).__name__}: {error}", BUG))
        sys.exit(BUG)


class _Child:
    """A worker, or the server: an engine, a thread that hears the supervisor, and one that tells it of its life."""

    def __init__(self, task: Task, line: Line, memory: Any) -> None:
        self._task = task
        self._line = line
        self._memory = memory
        self._ended = threading.Event()

    def run(self) -> None:
        works = self._task.kind is Kind.WORKER
        role = Role(
            self._task.queues,
            self._task.concurrency,
            schedules=not works,
            works=works,
            board=Board(self._memory) if works else None,
            give_up=self._give_up if works else None,
        )
        with make(self._task.recipe) as bell:
            load_jobs(bell, self._task.recipe.folder, schedules=not works, tells=self._task.tells)
            bell.post = self._line.send  # type: ignore[assignment]  # it answers, and nobody asks
            bell.bus.subscribe(log_runs)
            bell.engine.on_change(log_change)
            if self._task.watch:
                bell.engine.watch()
            asyncio.run(self._serve(bell, role))
        self._ended.set()

    async def _serve(self, bell: Workbell, role: Role) -> None:
        names: list[str] = []

        def started(engine: Engine, stop: Stop) -> None:
            names.append(engine.worker)
            settings = bell.settings
            set_up(self._task.recipe.settings.log_level, self._task.recipe.settings.log_format, worker_id=engine.worker)
            store = (settings.url, settings.lease, settings.keep_succeeded, settings.keep_other)
            self._line.send(StoreNamed(*store))
            self._line.send(WorkerStarted(engine.worker, os.getpid(), len(bell.registry)))
            if role.works:
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop, False)
            threading.Thread(target=self._hear, args=[bell, stop], name="workbell-ear", daemon=True).start()
            threading.Thread(target=self._beat, args=[engine], name="workbell-beat", daemon=True).start()

        handed_back = await bell.serve(role, started, self._task.grace)
        self._line.send(WorkerShutdown(names[0], handed_back))

    def _hear(self, bell: Workbell, stop: Stop) -> None:
        while True:
            match self._line.hear():
                case messages.Stop(at_once):
                    stop(at_once)
                case SendToUser() | Broadcast() as message:
                    bell.bus.tell(message)
                case _:  # the supervisor is gone
                    stop(False)
                    return

    def _beat(self, engine: Engine) -> None:
        clock = engine.clock
        while not self._ended.wait(BEAT):
            now = clock.now()
            executing = [
                Executing(work.run.id, work.run.job, (now - work.started_at).total_seconds())
                for work in engine.executing
                if work.started_at is not None
            ]
            self._line.send(Heartbeat(engine.worker, executing, engine.booked, memory_in_use()))

    def _give_up(self, why: str) -> NoReturn:
        log.error("this worker ends before its leases do: %s", why)
        self._line.send(WorkerError(why, StoreUnavailable.exit_code))
        logging.shutdown()
        os._exit(StoreUnavailable.exit_code)
