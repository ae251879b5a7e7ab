"""Events: how fast they are told and fanned out, and how soon a handler hears of one. `make bench` runs it.

Fan-out is measured against bulk enqueue of as many runs on the same store: the two in turn, each on an empty store,
and the share is that of the two times of one round. Medians are shown, and the spread of the shares.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.event_triggers import JOB, add_fifty, trigger, type_of
from tests.support.postgres import PostgresServer
from workbell import Workbell
from workbell.engine.match_events import MatchEvents
from workbell.model.event import Event
from workbell.model.ids import new_id
from workbell.settings import Settings
from workbell.stores.store_page import StorePage

NewStore = Callable[[], str]
Setting = Callable[[Workbell], None]


@contextmanager
def fresh(new_store: NewStore) -> Iterator[Workbell]:
    url = new_store()
    with Workbell(settings=Settings(url=url, concurrency=100)) as bell:

        @bell.job(name=JOB)
        async def hear() -> None: ...

        bell.store.check()
        yield bell


def timed(work: Callable[[], object]) -> float:
    gc.collect()  # what was made before must not be walked in the middle of it
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# Fan-out against bulk enqueue


def many_events(bell: Workbell, count: int) -> None:
    """Fifty triggers, of which each event matches five."""
    add_fifty(bell.store)
    now = bell.store.clock.now()
    told = [Event(new_id(), "default", type_of(number), "/bench", now, now, data_text="{}") for number in range(count)]
    for start in range(0, count, 500):
        bell.store.events.add(told[start : start + 500])


def one_event(bell: Workbell, count: int) -> None:
    """As many triggers as there are to be runs, and all of them hear of it."""
    made = [trigger(bell.store.clock, "shop.**", f"trigger {number}") for number in range(count)]
    bell.store.load(StorePage(triggers=made))
    bell.emit(type_of(0))


def fan_out(bell: Workbell) -> float:
    duty = MatchEvents(bell.store, bell.registry, bell.runtime.subscriptions, lambda: None, 1.0)
    bell.runtime.subscriptions.current()  # a scheduler has them in mind

    def all_of_them() -> None:
        while duty.fan_out_waiting(bell.store.clock.now()):
            pass

    return timed(all_of_them)


def against_bulk(new_store: NewStore, what: str, setting: Setting, runs: int, rounds: int) -> None:
    pairs: list[tuple[float, float]] = []
    for _ in range(rounds):
        with fresh(new_store) as bell:
            setting(bell)
            fanned = runs / fan_out(bell)
            assert len(bell.runs(limit=1000)) == min(runs, 1000)
        with fresh(new_store) as bell:
            bulk = runs / timed(lambda bell=bell: bell.enqueue_many([(JOB, {})] * runs))
        pairs.append((fanned, bulk))
    shares = sorted(fanned / bulk for fanned, bulk in pairs)
    fanned, bulk = (median(column) for column in zip(*pairs, strict=True))
    print(
        f"  {what:34} {fanned:8,.0f} runs/s   bulk enqueue {bulk:8,.0f} runs/s   {median(shares):4.0%}"
        f"   ({shares[0]:.0%} to {shares[-1]:.0%})",
        flush=True,
    )


# Emitting


def emitting(new_store: NewStore, count: int, rounds: int) -> None:
    alone, together = [], []
    for _ in range(rounds):
        with fresh(new_store) as bell, ThreadPoolExecutor(8) as threads:

            def tell(number: int, bell: Workbell = bell) -> None:
                bell.emit(type_of(number), {"number": number})

            list(threads.map(tell, range(16)))  # threads and connections are there
            alone.append(count / timed(lambda tell=tell: [tell(number) for number in range(count)]))
            spread = timed(lambda tell=tell, threads=threads: list(threads.map(tell, range(4 * count))))
            together.append(4 * count / spread)
    print(f"  {'emit, one by one':34} {median(alone):8,.0f} events/s", flush=True)
    print(f"  {'emit, from 8 threads':34} {median(together):8,.0f} events/s", flush=True)


# From emit to handler


def share(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000


def latency(new_store: NewStore, count: int) -> None:
    """One event at a time in a running engine; beside it the same for a plain enqueue."""
    url = new_store()
    with Workbell(settings=Settings(url=url)) as bell:
        started: asyncio.Queue[float] = asyncio.Queue()

        @bell.job(name=JOB)
        async def hear() -> None:
            await started.put(time.perf_counter())

        bell.store.check()
        bell.store.subscribers.write_trigger(trigger(bell.store.clock, "shop.*.made"), None)

        async def once(told: Callable[[], Any]) -> float:
            began = time.perf_counter()
            await told()
            return await started.get() - began

        async def main() -> None:
            found: dict[str, list[float]] = {"emit to handler": [], "enqueue to handler": []}
            async with bell.running():
                for number in range(count + 20):
                    pause = 0.01 + number % 7 / 1000  # not in step with anything
                    await asyncio.sleep(pause)
                    heard = await once(lambda number=number: bell.aemit(type_of(number)))
                    await asyncio.sleep(pause)
                    plain = await once(lambda: bell.aenqueue(JOB))
                    if number >= 20:  # everything is warm
                        found["emit to handler"].append(heard)
                        found["enqueue to handler"].append(plain)
            for what, seconds in found.items():
                ordered = sorted(seconds)
                p50, p99 = share(ordered, 0.5), share(ordered, 0.99)
                print(f"  {what:34} p50 {p50:6.1f} ms   p99 {p99:6.1f} ms", flush=True)

        asyncio.run(main())


def measure(new_store: NewStore, given: argparse.Namespace) -> None:
    many = f"{given.events:,} events, 5 of 50 triggers each"
    against_bulk(new_store, many, lambda bell: many_events(bell, given.events), given.events * 5, given.rounds)
    one = f"1 event, {given.triggers:,} triggers"
    against_bulk(new_store, one, lambda bell: one_event(bell, given.triggers), given.triggers, given.rounds)
    emitting(new_store, given.emits, given.rounds)
    latency(new_store, given.waits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2000, help="events to fan out, each to five runs")
    parser.add_argument("--triggers", type=int, default=1000, help="triggers that hear of one event")
    parser.add_argument("--emits", type=int, default=500, help="events to emit one by one, and four times as many")
    parser.add_argument("--waits", type=int, default=300, help="events to wait for")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; medians are shown")
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"], help="sqlite, postgres or both")
    given = parser.parse_args()
    if "sqlite" in given.stores:
        with tempfile.TemporaryDirectory() as folder:
            print("SQLite")
            measure(lambda: f"sqlite:///{folder}/{new_id()}.db", given)
    if "postgres" in given.stores:
        server = PostgresServer().start()
        try:
            print("PostgreSQL")
            measure(server.create_database, given)
        finally:
            server.remove()


if __name__ == "__main__":
    main()
