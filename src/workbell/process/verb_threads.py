"""Threads for calls of async code: pools, shared by the clients of all tenants, and a thread for one call.

Never the loop's own executor: that is the application's, whose `asyncio.to_thread` may keep all of its threads busy.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from workbell.process.fork_safety import remake_after_fork

P = ParamSpec("P")
T = TypeVar("T")

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


async def on_own_thread(name: str, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call on a thread of its own, for those that are rare and must begin at once. If the caller is cancelled, it
    goes on."""
    import asyncio

    here = contextvars.copy_context()
    thread = ThreadPoolExecutor(1, thread_name_prefix=f"workbell-{name}")
    calling = thread.submit(functools.partial(here.run, call, *args, **kwargs))
    try:
        return await asyncio.shield(asyncio.wrap_future(calling))
    finally:
        thread.shutdown(wait=calling.done())
