"""A program whose main thread enqueues and is interrupted again and again, as by Ctrl-C, while other threads enqueue.

Arguments: the store's URL and how many interrupts. It prints what came of it as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from typing import Any

from workbell import Workbell

THREADS = 4
ENOUGH = 15.0  # seconds for a single enqueue: one that takes longer stands still

inside = False


def interrupt(*_: Any) -> None:
    """Raises within an enqueue only: what the loop around it does is not the matter."""
    global inside
    if inside:
        inside = False
        raise KeyboardInterrupt


def main(url: str, interrupts: int) -> None:
    global inside
    bell = Workbell(url)

    @bell.job
    def work(n: int) -> None: ...

    work.enqueue(n=0)
    made: list[str] = []
    errors: list[str] = []
    stop = threading.Event()

    def enqueue() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                options: dict[str, Any] = {} if number % 3 else {"key": f"{threading.get_ident()} {number}"}
                made.append(work.options(**options).enqueue(n=1).id)
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")

    def disturb() -> None:
        chance = random.Random(7)
        for _ in range(interrupts):
            time.sleep(chance.uniform(0.002, 0.012))
            os.kill(os.getpid(), signal.SIGINT)
        stop.set()

    signal.signal(signal.SIGINT, interrupt)
    threads = [threading.Thread(target=enqueue, daemon=True) for _ in range(THREADS)]
    threads.append(threading.Thread(target=disturb, daemon=True))
    for thread in threads:
        thread.start()
    hits = 0
    while not stop.is_set():
        try:
            inside = True
            made.append(work.enqueue(n=2).id)
        except KeyboardInterrupt:
            hits += 1
        finally:
            inside = False
    for thread in threads:
        thread.join(ENOUGH)
    stuck = sum(thread.is_alive() for thread in threads)
    after = work.enqueue(n=3).id if not stuck else None
    print(json.dumps({"made": made, "errors": errors, "hits": hits, "stuck": stuck, "after": after}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
