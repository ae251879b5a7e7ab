"""Calling handlers on an agent: plain ones in threads, async ones on an event loop of their own.

So a handler that blocks its loop holds up neither polls nor results. Jobs that ask for a process of their own are not
offered: a thread would not keep what they promise.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from workbell.agent_program.context import AgentContext
from workbell.agent_program.held_run import Hand
from workbell.engine.execute import call_async, call_plain, timed_out
from workbell.engine.work import Work
from workbell.handlers.job_function import JobFunction
from workbell.handlers.registry import Registry
from workbell.model.outcome import Outcome


class Handlers:
    """The jobs of an application that are run here."""

    def __init__(self, registry: Registry, size: int) -> None:
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
        """Whether threads are still at it."""
        return bool(self._plain)

    def find(self, job: str) -> JobFunction[Any, Any] | None:
        return self._registry.find(job) if job in self.names else None

    def start(self, hand: Hand, job: JobFunction[Any, Any]) -> Future[Outcome]:
        """Call the handler of a run; the answer comes when it is really over."""
        work = hand.work = Work(hand.run, job, valid_until=None)
        work.started_at = hand.run.started_at
        hand.mark()  # its end may have been asked for already
        context = AgentContext(hand, self._registry.resources) if job.signature.wants_context else None
        if not job.is_async:
            plain = self._pool.submit(call_plain, work, context)
            self._plain.add(plain)
            plain.add_done_callback(self._plain.discard)
            return plain
        future: Future[Outcome] = Future()
        self._loop.call_soon_threadsafe(self._begin, hand, work, context, future)
        return future

    def _begin(self, hand: Hand, work: Work, context: AgentContext | None, future: Future[Outcome]) -> None:
        task = self._tasks[hand.key] = self._loop.create_task(call_async(work, context))

        def over(ended: asyncio.Task[Outcome]) -> None:
            self._tasks.pop(hand.key, None)
            if ended.cancelled():
                future.set_exception(RuntimeError("the agent stops"))
            elif (error := ended.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(ended.result())

        task.add_done_callback(over)
        if hand.stopping:
            task.cancel()

    def stop(self, hand: Hand) -> None:
        """Cancel an async handler; a plain one sees it in its context."""

        def cancel() -> None:
            task = self._tasks.get(hand.key)
            if task is not None:
                task.cancel()

        self._loop.call_soon_threadsafe(cancel)

    def expire(self, hand: Hand) -> Outcome:
        """A plain handler outlasted its time. A thread cannot be stopped; what it returns is not wanted any more."""
        assert hand.work is not None
        hand.work.timed_out = True
        return timed_out(hand.work)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2)
