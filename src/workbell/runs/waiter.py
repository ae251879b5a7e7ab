"""Waiting for runs to end: any number of waits share one thread that asks the store for them.

A run that ends in this process is read at once, by itself. Runs may also end in other processes, so all are read again
from time to time: often at first and then less so, each at its own pace, and together with others that are due soon.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING

from workbell.errors import RunNotFound, StoreUnavailable, WaitTimeout, WorkbellError
from workbell.model.clock import seconds
from workbell.process.fork_safety import remake_after_fork

if TYPE_CHECKING:
    from workbell.model.run import Run
    from workbell.stores.port import Store
    from workbell.stores.publisher import Pair

FASTEST, SLOWEST = 0.01, 0.5  # seconds between two reads of a run
PAGE = 100  # runs in one read: each may have half a megabyte of input and result
EARLY = 0.5  # of its pause: a run is read so much too early if others are due, so that waits share their reads


class _Wait:
    """Waits for one run."""

    def __init__(self) -> None:
        self.futures: list[Future[Run]] = []
        self.pause = FASTEST
        self.due = 0.0  # on the monotonic clock; 0: now


class Waiter:
    """Reads runs that are waited for; `moved` tells it which have ended here."""

    def __init__(self, which: Callable[[], Store]) -> None:
        """`which` is called each time: a test may have given its owner another store."""
        self._which = which
        self._closed = False
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._guard = threading.Lock()  # entered itself: an interrupt within `with condition:` would leave it locked
        self._changed = threading.Condition(self._guard)
        self._waiting: dict[str, _Wait] = {}
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
        import asyncio

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
            wait = self._waiting.setdefault(run_id, _Wait())
            wait.futures.append(future)
            wait.pause, wait.due = FASTEST, 0.0
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="workbell-wait", daemon=True)
                thread.start()
                self._thread = thread  # last: an interrupt before it must not leave one that was never started
            self._changed.notify()
        return future

    def _forget(self, run_id: str, future: Future[Run]) -> None:
        with self._guard:
            wait = self._waiting.get(run_id)
            if wait is not None and future in wait.futures:
                wait.futures.remove(future)
                if not wait.futures:
                    del self._waiting[run_id]

    def moved(self, pairs: Sequence[Pair]) -> None:
        """Runs have moved: read those that have ended and are waited for.

        They are read, as a transition does not know all of a run: its progress is written beside it.
        """
        with self._guard:
            if not self._waiting:
                return
            ended = [wait for run, change in pairs if change.status.final and (wait := self._waiting.get(run.id))]
            for wait in ended:
                wait.due = 0.0
            if ended:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._guard:
                while not self._closed and (left := self._seconds_left()) != 0:
                    self._changed.wait(left)
                if self._closed:
                    return
                ids = self._take_due()
            self._ask(ids)

    def _seconds_left(self) -> float | None:
        """Until a run is to be read; None: nobody waits."""
        if not self._waiting:
            return None
        return max(min(wait.due for wait in self._waiting.values()) - time.monotonic(), 0.0)

    def _take_due(self) -> list[str]:
        """The runs to be read now. Their next time is set before they are read: one may end meanwhile."""
        now = time.monotonic()
        ids = [run_id for run_id, wait in self._waiting.items() if wait.due <= now]
        if all(self._waiting[run_id].due for run_id in ids):  # else, in a busy process, all would be read all the time
            ids = [run_id for run_id, wait in self._waiting.items() if wait.due - now <= wait.pause * EARLY]
        for run_id in ids:
            wait = self._waiting[run_id]
            wait.due = now + wait.pause
            wait.pause = min(wait.pause * 1.5, SLOWEST)
        return ids

    def _ask(self, ids: list[str]) -> None:
        for start in range(0, len(ids), PAGE):
            if self._closed:
                return
            page = ids[start : start + PAGE]
            try:
                found = self._which().runs.find(page)
            except StoreUnavailable:
                return  # the waits go on until their own time is over
            except Exception as error:  # noqa: BLE001  whatever it is, the waits must get it
                self._settle(page, error)
                continue
            self._settle([run.id for run in found.values() if run.status.final], found)
            for run_id in page:
                if run_id not in found:
                    self._settle([run_id], RunNotFound(f"run {run_id} ended and was removed while it was waited for."))

    def _settle(self, ids: list[str], answer: dict[str, Run] | Exception) -> None:
        with self._guard:
            ended = [(run_id, wait.futures) for run_id in ids if (wait := self._waiting.pop(run_id, None))]
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
            waiting = list(self._waiting)
            self._changed.notify()
        for run_id in waiting:
            text = f"This Workbell was closed while it waited for run {run_id}; wait again with an open one."
            self._settle([run_id], WorkbellError(text))
