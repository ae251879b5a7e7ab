"""The threads on which the verbs of async callers run: the same for the clients of all tenants."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from workbell.process.fork_safety import in_every_child

MOST = 8
MOST_WAITING = 32


class Threads:
    """Pools that a forked child makes afresh, as it has none of its parent's threads."""

    def __init__(self) -> None:
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        self.pool = ThreadPoolExecutor(MOST, thread_name_prefix="workbell-call")
        # For calls that may wait for a lock held by a transaction of a caller: all the others would wait for them.
        self.waiting = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="workbell-keyed-call")

    def shut_down(self) -> None:
        for pool in (self.pool, self.waiting):
            pool.shutdown(wait=True)
