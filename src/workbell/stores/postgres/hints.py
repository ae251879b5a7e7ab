"""NOTIFY sender: hints are gathered, sent outside of transactions, and never relied upon.

A NOTIFY inside the enqueue's transaction would take a database-wide lock at commit. So they are sent afterwards, at
most one in ten milliseconds however many runs are made.
"""

from __future__ import annotations

import threading
import time

from workbell.process.fork_safety import remake_after_fork
from workbell.stores.postgres.calls import Calls
from workbell.stores.postgres.translation import Busy

CHANNEL = "workbell"
GAP = 0.01
OVERDUE = 0.1  # seconds after which a pending hint is sent again: its thread may have missed it
LATER = (0.02, 0.2, 1.0)  # when a caller's own transaction has probably been committed


class HintSender:
    """Sends hints for this process."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._closed = False
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._guard = threading.Lock()  # entered itself: an interrupt within `with condition:` would leave it locked
        self._due = threading.Condition(self._guard)
        self._times: list[float] = []
        self._last = 0.0
        self._thread: threading.Thread | None = None

    def send(self) -> None:
        """Send a hint. If the last one is a while ago, in this thread, as another would be half a millisecond
        later; else a thread sends one for all that come meanwhile."""
        now = time.monotonic()
        with self._guard:
            alone = now - self._last >= GAP and not self._closed
            if alone:
                self._last = now
        if not alone or not self._notify(pool_wait=0):  # a hint never waits for a connection
            self.send_later((max(self._last + GAP - now, 0.0),))

    def send_later(self, delays: tuple[float, ...]) -> None:
        now = time.monotonic()
        with self._guard:
            if len(delays) == 1 and self._times and now - OVERDUE <= self._times[0] <= now + GAP:
                return  # one is pending
            self._times = sorted([*self._times, *(now + delay for delay in delays)])
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="workbell-notify", daemon=True)
                thread.start()
                self._thread = thread  # last: an interrupt before it must not leave one that was never started
            self._due.notify()

    def _run(self) -> None:
        while True:
            with self._guard:
                while not self._closed and (not self._times or self._times[0] > time.monotonic()):
                    self._due.wait(self._times[0] - time.monotonic() if self._times else None)
                if self._closed:
                    return
                self._last = time.monotonic()
                self._times = [at for at in self._times if at > self._last]
            self._notify()

    def _notify(self, pool_wait: float | None = None) -> bool:
        """Whether a connection was free for it."""
        try:
            notify = "SELECT pg_notify(%s, '')"
            self._calls.run(lambda c: c.execute(notify, (CHANNEL,)), transaction=False, pool_wait=pool_wait)
        except Busy:
            return False
        except Exception:  # noqa: BLE001  a hint that cannot be sent is no loss
            return True
        return True

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self._due.notify()
