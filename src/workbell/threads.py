"""The threads on which the verbs of async callers run: one pool for the clients of all tenants."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from workbell.afresh import in_every_child

MOST = 8


class Threads:
    """A pool that a forked child makes afresh, as it has none of its parent's threads."""

    def __init__(self) -> None:
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        self.pool = ThreadPoolExecutor(MOST, thread_name_prefix="workbell-call")
