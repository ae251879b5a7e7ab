"""One action on one peer, in a process of its own; prints JSON lines.

    python -m rivals.child PEER setup | fill N | enqueue N | bulk N | raw N BATCH | latency N | busy N ITERATIONS
                                | watch N | worker PROCESSES | info

`PEER:worker` and `PEER:start` are a peer whose own supervisor starts the worker processes (`supervise`).
A peer is a module in `peers/`:

    STORE = "postgres" | "sqlite"
    PACKAGES = [...]                # packages whose versions are recorded, of npm if NODE is there
    CONFIG = "..."                  # settings that matter, in words
    NODE = "file.mjs"               # optional: a program in `node/` has the actions, except watch and info
    def setup(): ...                # an empty store with its tables
    def enqueue(stamps): ...        # one call for each item of an iterable, which may sleep between items
    def enqueue_bulk(sizes): ...    # optional: one call for each size of an iterable
    def enqueue_busy(n, iterations): ...  # optional: CPU-bound runs, in bulk where there is such a call
    def worker(): ...               # work until ended; handlers call hit(stamp)
    def supervise(command, processes): ...  # optional: the same by a supervisor with worker processes of its own
    def pending(): ...              # runs that are not finished in the store
    def leases(): ...               # optional: least remaining lease of running runs in seconds (or None), lost leases
"""

from __future__ import annotations

import importlib
import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from .hits import COUNT

T = TypeVar("T")

BULK = 1000  # runs a call
GAP = 0.02  # seconds between paced runs
FIRST = 30.0  # seconds until the first handler must have started
PATIENCE = 200.0  # seconds that a drain may take
LEASE_PACE = 0.1  # seconds between looks at the leases
NODE = Path(__file__).with_name("node")


class Stopwatch:
    """Times what is done with items, from the second on: the first one connects and prepares."""

    seconds = 0.0

    def over(self, items: Iterable[T]) -> Iterator[T]:
        iterator = iter(items)
        yield next(iterator)
        began = time.perf_counter()
        yield from iterator
        self.seconds = time.perf_counter() - began


def sizes_of(n: int) -> list[int]:
    return [min(BULK, n - start) for start in range(0, n, BULK)]


def fill(peer: ModuleType, n: int) -> dict[str, Any]:
    """Enqueue exactly n runs, the fast way."""
    if hasattr(peer, "enqueue_bulk"):
        peer.enqueue_bulk(sizes_of(n))
    else:
        peer.enqueue([0] * n)
    return {}


def enqueue(peer: ModuleType, n: int) -> dict[str, Any]:
    watch = Stopwatch()
    peer.enqueue(watch.over([0] * (n + 1)))
    return {"rate": n / watch.seconds}


def bulk(peer: ModuleType, n: int) -> dict[str, Any]:
    watch = Stopwatch()
    peer.enqueue_bulk(watch.over([BULK, *sizes_of(n)]))
    return {"rate": n / watch.seconds}


def raw(peer: ModuleType, n: int, batch: int) -> dict[str, Any]:
    """The same runs inserted with raw SQL, `batch` a commit: Workbell's ceiling on this store."""
    from rivals.raw import insert_postgres, insert_sqlite

    peer.noop.enqueue(sent=0)  # makes the lane
    requests = [peer.noop.request(sent=0).new for _ in range(batch + n)]
    took = (
        insert_sqlite(peer.PATH, requests, batch)
        if peer.STORE == "sqlite"
        else insert_postgres(peer.URL, requests, batch)
    )
    return {"rate": n / took}


def paced(n: int) -> Iterator[int]:
    """Stamps, one every GAP seconds: each is the time of its enqueue call."""
    began = time.monotonic()
    for number in range(n):
        time.sleep(max(0.0, began + number * GAP - time.monotonic()))
        yield time.time_ns()


def latency(peer: ModuleType, n: int) -> dict[str, Any]:
    """Enqueue n stamped runs, after one without a stamp that connects."""
    peer.enqueue(itertools.chain([0], paced(n)))
    return {}


def busy(peer: ModuleType, n: int, iterations: int) -> dict[str, Any]:
    peer.enqueue_busy(n, iterations)
    return {}


def watch(peer: ModuleType, n: int) -> dict[str, Any]:
    """When the first handler started, and when n had started and the store had nothing unfinished."""
    # Looked at only where leases are measured: drains have the same watcher in every system.
    lease = Leases(peer) if os.environ.get("BENCH_LEASE") and hasattr(peer, "leases") else None
    first, end = None, time.time() + FIRST
    say({"ready": True})
    while (count := COUNT.stat().st_size) < n and time.time() < end:
        if count and first is None:
            first = time.time()
            end = first + PATIENCE
            say({"first": first})
        if lease is not None:
            lease.look()
        time.sleep(0.004)
    while (left := peer.pending()) > 0 and time.time() < end:
        if lease is not None:
            lease.look()
        time.sleep(0.01)
    done = time.time()
    found = {"first": first, "done": done, "count": COUNT.stat().st_size, "left": left}
    return found if lease is None else found | lease.found()


class Leases:
    """Least remaining lease that was seen, and how many leases were lost."""

    def __init__(self, peer: ModuleType) -> None:
        self._read = peer.leases
        self._least: float | None = None
        self._next = 0.0

    def look(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LEASE_PACE
        left = self._read()[0]
        if left is not None:
            self._least = left if self._least is None else min(self._least, left)

    def found(self) -> dict[str, Any]:
        return {"least_lease": self._least, "lost": self._read()[1]}


def info(peer: ModuleType) -> dict[str, Any]:
    read = node_version if hasattr(peer, "NODE") else version
    return {"config": peer.CONFIG, "versions": {name: read(name) for name in peer.PACKAGES}}


def node_version(package: str) -> str:
    file = Path(os.environ["BENCH_NODE"], "node_modules", package, "package.json")
    return str(json.loads(file.read_text())["version"])


def setup(peer: ModuleType) -> dict[str, Any]:
    peer.setup()
    return {}


ACTIONS = {action.__name__: action for action in (setup, fill, enqueue, bulk, raw, latency, busy, watch, info)}


def say(found: dict[str, Any]) -> None:
    print(json.dumps(found), flush=True)


def main(name: str, action: str, *arguments: str) -> None:
    logging.disable(logging.WARNING)  # no peer pays for info logging
    name, _, command = name.partition(":")
    peer = importlib.import_module(f"rivals.peers.{name}")
    if hasattr(peer, "NODE") and action not in ("watch", "info"):
        os.execvp("node", ["node", str(NODE / peer.NODE), action, *arguments])
    if action == "worker" and command:
        peer.supervise(command, int(arguments[0]))
    elif action == "worker":
        peer.worker()
    else:
        say(ACTIONS[action](peer, *map(int, arguments)))


if __name__ == "__main__":
    main(*sys.argv[1:])
