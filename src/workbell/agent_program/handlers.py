"""Executors for handlers on an agent: plain ones in threads, async ones on a separate event loop.

So a handler that blocks its loop holds up neither polls nor results. Jobs that ask for a process of their own are not
offered: a thread would break their promises.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from workbell.agent_program.context import AgentContext
from workbell.agent_program.held_run import HeldRun
from workbell.engine.execute import call_async, call_plain, timed_out
from workbell.engine.work import Work
from workbell.handlers.job_function import JobFunction
from workbell.handlers.registry import Registry
from workbell.model.outcome import Outcome


class Handlers:
    """The jobs of an application that are run here."""

    def __init__(self, registry: Registry, size: int) -> None:
        registry.worker_start.call_once()
        self._registry = registry
        self.names = sorted(job.name for job in registry if job.isolation is None)
        self.left_out = sorted(job.name for job in registry if job.isolation is not None)
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="workbell-handler")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="workbell-handlers", daemon=True)
        self._tasks: dict[tuple[str, int], asyncio.Task[Outcome]] = {}
        self._plain: set[Future[Outcome]] = set()
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether handlers still run in threads."""
        return bool(self._plain)

    def find(self, job: str) -> JobFunction[Any, Any] | None:
        return self._registry.find(job) if job in self.names else None

    def start(self, held: HeldRun, job: JobFunction[Any, Any]) -> Future[Outcome]:
        """Call the handler of a run; the answer comes when it is really over."""
        work = held.work = Work(held.run, job, valid_until=None)
        work.started_at = held.run.started_at
        held.mark()  # a cancel may have been requested already
        context = AgentContext(held, self._registry.resources) if job.signature.wants_context or job.hooks else None
        if not job.is_async:
            plain = self._pool.submit(contextvars.Context().run, call_plain, work, context)
            self._plain.add(plain)
            plain.add_done_callback(self._plain.discard)
            return plain
        future: Future[Outcome] = Future()
        self._loop.call_soon_threadsafe(self._begin, held, work, context, future)
        return future

    def _begin(self, held: HeldRun, work: Work, context: AgentContext | None, future: Future[Outcome]) -> None:
        task = self._tasks[held.key] = self._loop.create_task(call_async(work, context))

        def over(ended: asyncio.Task[Outcome]) -> None:
            self._tasks.pop(held.key, None)
            if ended.cancelled():
                future.set_exception(RuntimeError("the agent stops"))
            elif (error := ended.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(ended.result())

        task.add_done_callback(over)
        if held.stopping:
            task.cancel()

    def stop(self, held: HeldRun) -> None:
        """Cancel an async handler; a plain one sees it in its context."""

        def cancel() -> None:
            task = self._tasks.get(held.key)
            if task is not None:
                task.cancel()

        self._loop.call_soon_threadsafe(cancel)

    def expire(self, held: HeldRun) -> Outcome:
        """A plain handler outlasted its time. A thread cannot be stopped; its result is dropped."""
        assert held.work is not None
        held.work.timed_out = True
        return timed_out(held.work)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2)
