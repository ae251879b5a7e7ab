"""Waiting for runs to end: any number of waits share one thread that asks the store for all of them at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta

from workbell.errors import RunNotFound, StoreUnavailable, WaitTimeout, WorkbellError
from workbell.model.clock import seconds
from workbell.model.run import Run
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.port import Store
from workbell.stores.publisher import Pair

FASTEST, SLOWEST = 0.01, 0.5


class Waiter:
    """Asks often at first and then less so; `moved` makes it ask at once."""

    def __init__(self, which: Callable[[], Store]) -> None:
        """`which` is called each time: a test may have given its owner another store."""
        self._which = which
        self._closed = False
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._guard = threading.Lock()  # entered itself: an interrupt within `with condition:` would leave it locked
        self._changed = threading.Condition(self._guard)
        self._waiting: dict[str, list[Future[Run]]] = {}
        self._nudged = False
        self._thread: threading.Thread | None = None

    def wait(self, run_id: str, timeout: float | timedelta | None) -> Run:
        limit = None if timeout is None else seconds("timeout", timeout)
        future = self._register(run_id)
        try:
            return future.result(limit)
        except TimeoutError:
            raise self._too_late(run_id, limit) from None
        finally:
            self._forget(run_id, future)

    async def await_(self, run_id: str, timeout: float | timedelta | None) -> Run:
        limit = None if timeout is None else seconds("timeout", timeout)
        future = self._register(run_id)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), limit)
        except TimeoutError:
            raise self._too_late(run_id, limit) from None
        finally:
            self._forget(run_id, future)

    def _too_late(self, run_id: str, limit: float | None) -> WaitTimeout:
        return WaitTimeout(f"run {run_id} did not end within {limit:g} s; ask bell.why(id) what holds it up.")

    def _register(self, run_id: str) -> Future[Run]:
        future: Future[Run] = Future()
        with self._guard:
            if self._closed:
                raise WorkbellError("This Workbell is closed.")
            self._waiting.setdefault(run_id, []).append(future)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="workbell-wait", daemon=True)
                thread.start()
                self._thread = thread  # last: an interrupt before it must not leave one that was never started
            self._nudged = True
            self._changed.notify()
        return future

    def _forget(self, run_id: str, future: Future[Run]) -> None:
        with self._guard:
            waiting = self._waiting.get(run_id, [])
            if future in waiting:
                waiting.remove(future)
            if not waiting:
                self._waiting.pop(run_id, None)

    def moved(self, _pairs: Sequence[Pair]) -> None:
        """Runs have moved: see which waits are over."""
        with self._guard:
            if self._waiting:
                self._nudged = True
                self._changed.notify()

    def _run(self) -> None:
        pause = FASTEST
        while True:
            with self._guard:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                pause = FASTEST if self._nudged else min(pause * 1.5, SLOWEST)
                self._nudged = False
                ids = list(self._waiting)
            self._ask(ids)
            with self._guard:
                end = time.monotonic() + pause
                while not self._nudged and not self._closed and (left := end - time.monotonic()) > 0:
                    self._changed.wait(left)

    def _ask(self, ids: list[str]) -> None:
        try:
            found = self._which().runs.find(ids)
        except StoreUnavailable:
            return  # the waits go on until their own time is over
        except Exception as error:  # noqa: BLE001  whatever it is, the waits must get it
            self._settle(ids, error)
            return
        self._settle([run.id for run in found.values() if run.status.final], found)
        for run_id in ids:
            if run_id not in found:
                self._settle([run_id], RunNotFound(f"run {run_id} ended and was removed while it was waited for."))

    def _settle(self, ids: list[str], answer: dict[str, Run] | Exception) -> None:
        with self._guard:
            ended = [(run_id, self._waiting.pop(run_id, [])) for run_id in ids]
        for run_id, futures in ended:
            for future in futures:
                if future.set_running_or_notify_cancel():
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer[run_id])

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self._changed.notify()
