"""A worker that must end does so, also if its supervisor reads nothing any more."""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection

from workbell import StoreUnavailable
from workbell.workers.child import _Child
from workbell.workers.messages import WorkerError
from workbell.workers.pipe import Pipe


def _give_up_with_a_full_pipe(connection: Connection) -> None:
    child = object.__new__(_Child)
    child._pipe = Pipe(connection, "supervisor")
    large = WorkerError("x" * (1 << 22), 0)
    threading.Thread(target=child._pipe.send, args=[large], daemon=True).start()
    while child._pipe._lock.acquire(blocking=False):  # until the thread is in its send
        child._pipe._lock.release()
    child._give_up("the store cannot be reached")


def test_nothing_holds_up_the_end_of_a_process_that_gives_up() -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_give_up_with_a_full_pipe, args=[there])
    process.start()
    there.close()
    process.join(30)
    try:
        assert process.exitcode == StoreUnavailable.exit_code
    finally:
        process.kill()
        process.join()
        here.close()
