"""How late ticks are: many schedules loaded, a thousand due at one instant, and a thousand spread over a second.
`make bench` runs it.

Late is what passes between the tick's due time and the commit of its run, and until its handler starts. Also: what
100,000 schedules cost while nothing is due, and what putting one more of them costs.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.postgres import PostgresServer
from workbell import Workbell
from workbell.scheduling.schedules import Declaration
from workbell.settings import Settings

DUE = 1000


def share(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000


def show(what: str, late: list[float]) -> None:
    ordered = sorted(late)
    p50, p99, last = share(ordered, 0.5), share(ordered, 0.99), ordered[-1] * 1000
    print(f"  {what:28} p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   last {last:6.1f} ms", flush=True)


def measure(url: str, loaded: int) -> None:
    with Workbell(settings=Settings(url=url, concurrency=100)) as bell:
        late: list[float] = []

        @bell.job
        async def noop(due: float) -> None:
            late.append(time.time() - due)

        began = time.perf_counter()
        load(bell, noop, loaded)
        print(f"  {'put ' + format(loaded, ','):24} {loaded / (time.perf_counter() - began):,.0f} a second", flush=True)
        began = time.perf_counter()
        for n in range(100):
            bell.schedules.put(f"one more {n}", job=noop, cron="0 3 1 1 *", input={"due": 0.0})
        print(f"  {'put one more':24} {(time.perf_counter() - began) * 10:.1f} ms", flush=True)
        idle(bell)
        fire(bell, noop, late, "at one instant", 0.0)
        fire(bell, noop, late, "over a second", 1.0)


def load(bell: Workbell, job: Any, count: int) -> None:
    for start in range(0, count, 10_000):
        page = range(start, min(start + 10_000, count))
        settings = [{"cron": f"{n % 60} 3 1 1 *", "input": {"due": 0.0}} for n in page]
        bell.schedules.put_all(
            [Declaration(f"far {n}", job, s) for n, s in zip(page, settings, strict=True)], source="b"
        )


def fire(bell: Workbell, job: Any, late: list[float], what: str, spread: float) -> None:
    """Schedules with one tick each, some seconds from now."""
    first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5)
    near = []
    for n in range(DUE):
        due = first + timedelta(seconds=spread * n / DUE)
        near.append(Declaration(f"{what} {n}", job, {"at": due, "input": {"due": due.timestamp()}}))
    bell.schedules.put_all(near, source="bench")
    del near
    gc.collect()  # what was made for the measurement itself must not be walked in the middle of it
    late.clear()
    committed: list[float] = []
    write = bell.store.schedules.write

    def watched(changes: Sequence[Any]) -> set[str]:
        written = write(changes)
        committed.extend(time.time() - change.ticks[0].due.timestamp() for change in changes if change.ticks)
        return written

    bell.store.schedules.write = watched  # type: ignore[method-assign]
    asyncio.run(run_until(bell, lambda: len(late) >= DUE))
    bell.store.schedules.write = write  # type: ignore[method-assign]
    show(f"{what}: to commit", committed)
    show(f"{what}: to handler", late)


def idle(bell: Workbell, seconds: float = 10) -> None:
    async def main() -> None:
        async with bell.running():
            await asyncio.sleep(2)
            before, began = time.process_time(), time.perf_counter()
            await asyncio.sleep(seconds)
            used = (time.process_time() - before) / (time.perf_counter() - began)
            print(f"  {'idle':24} {used * 100:.2f} % of a core", flush=True)

    asyncio.run(main())


async def run_until(bell: Workbell, done: Any) -> None:
    async with bell.running():
        while not done():
            await asyncio.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loaded", type=int, default=10_000, help="schedules that are not due")
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"], help="sqlite, postgres or both")
    given = parser.parse_args()
    if "sqlite" in given.stores:
        with tempfile.TemporaryDirectory() as folder:
            print(f"SQLite, {given.loaded:,} schedules loaded, {DUE:,} more due")
            measure(f"sqlite:///{folder}/bench.db", given.loaded)
    if "postgres" in given.stores:
        server = PostgresServer().start()
        try:
            print(f"PostgreSQL, {given.loaded:,} schedules loaded, {DUE:,} more due")
            measure(server.create_database(), given.loaded)
        finally:
            server.remove()


if __name__ == "__main__":
    main()
