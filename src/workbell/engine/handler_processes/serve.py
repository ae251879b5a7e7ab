"""Handler process, inside: receives a run, calls its handler, answers; until the worker closes the pipe."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from workbell.engine.duty import Duty, DutyThread
from workbell.engine.execute import call_async, call_plain
from workbell.engine.handler_processes.limits import limited
from workbell.engine.handler_processes.messages import BEGUN, READY, Execute, Message, answer_of, decode_execute, encode
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.work import Work
from workbell.errors import WorkbellError
from workbell.handlers.context import Context
from workbell.handlers.job_function import JobFunction
from workbell.handlers.process_isolation import Isolation
from workbell.handlers.services import JobServices
from workbell.model.outcome import Failed, Outcome, Raised
from workbell.stores.port import Store

Find = Callable[[Execute], JobFunction[Any, Any]]


class HandlerServer:
    """Executes one run after the other, in the main thread."""

    def __init__(self, connection: Connection, find: Find) -> None:
        self._connection = connection
        self._find = find
        self._lock = threading.Lock()
        self._services: dict[tuple[int, str], JobServices] = {}
        self._reports: dict[Store, ProgressAndLogs] = {}

    def run(self) -> None:
        self.send(READY)
        while True:
            try:
                execute = decode_execute(self._connection.recv_bytes())
            except (EOFError, OSError):
                return  # needed no more
            self._answer(execute)

    def send(self, message: Message) -> None:
        with self._lock:
            self._connection.send_bytes(encode(message))

    def _answer(self, execute: Execute) -> None:
        try:
            job = self._find(execute)
            services = self._services_of(job.services, execute.run.tenant)
        except WorkbellError as error:
            self.send(Failed(f"job {execute.run.job} with isolate='process': {error}", "isolate"))
            return
        except BaseException as error:  # noqa: BLE001  the code of a job can raise anything while it is loaded
            self.send(answer_of(Raised(error, "isolate")))
            return
        work = Work(execute.run, job)
        isolation = job.isolation or Isolation()
        self.send(BEGUN)
        outcome = self._call(work, services, isolation)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()  # this process may be killed before it is full
        self.send(answer_of(outcome, limited_memory=isolation.memory is not None))

    def _services_of(self, services: JobServices, tenant: str) -> JobServices:
        if services.tenant == tenant:
            return services
        key = id(services), tenant
        if key not in self._services:
            self._services[key] = services.for_tenant(tenant)
        return self._services[key]

    def _call(self, work: Work, services: JobServices, isolation: Isolation) -> Outcome:
        if not work.job.signature.wants_context and not work.job.hooks:
            return _call(work, None, isolation)
        try:
            reports = self._reports_to(services.store)
        except WorkbellError as error:
            return Raised(error)
        outcome = _call(
            work, Context(work.run, services, reports.progress, lambda: False, reports.save_line), isolation
        )
        reports.flush()
        return outcome

    def _reports_to(self, store: Store) -> ProgressAndLogs:
        """Reports of handlers are written by this process itself; it has no other duty, and opens nothing before."""
        if store not in self._reports:
            reports = self._reports[store] = ProgressAndLogs(store, store.clock)
            DutyThread([Duty("reports", reports.step, store.clock, reports.waker)]).start()
        store.measure_time()
        return self._reports[store]


def _call(work: Work, context: Context | None, isolation: Isolation) -> Outcome:
    try:
        with limited(isolation):
            if work.job.is_async:
                return contextvars.Context().run(asyncio.run, call_async(work, context))
            return contextvars.Context().run(call_plain, work, context)
    except BaseException as error:  # noqa: BLE001  memory can also be at its end outside the handler
        return Raised(error)
