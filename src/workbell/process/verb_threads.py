"""Thread pools for the verbs of async callers, shared by the clients of all tenants."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from workbell.process.fork_safety import remake_after_fork

MOST = 8
MOST_WAITING = 32


class Threads:
    """Thread pools of one process; a forked child makes its own."""

    def __init__(self) -> None:
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self.pool = ThreadPoolExecutor(MOST, thread_name_prefix="workbell-call")
        # For calls that may wait for a lock held by a transaction of a caller: all the others would wait for them.
        self.waiting = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="workbell-keyed-call")

    def shut_down(self) -> None:
        for pool in (self.pool, self.waiting):
            pool.shutdown(wait=True)
