"""Does the cost of a run grow with what a store holds, and with time? `make bench` runs it.

`--filled`: claim and finish of 100 batches of 100 runs, on a store that has nothing else and on one with a million
waiting and a million finished runs beside, batch by batch in turn. Goal: at most 1.2 times the cost.

`--dead-heads N`: a session holds a snapshot, so that no vacuum can remove rows, and N runs have come and gone since: N
dead entries stand at the head of the index that claims read. Goal: drain rate and latency within 2 times of none.

`--hold`: a worker under half of its full load for `--minutes`, without and with a session that is idle in transaction
all the time. Goal: p99 of the last ten minutes at most 1.3 times that of minutes 2 to 11, and tables that stop growing
once the session has ended. Longer than 40 minutes; `make soak-hold` makes it an hour each.

PostgreSQL is a server of its own that is started here and removed again.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil
import psycopg
from bulk_fill import Filler
from load_processes import Worker, define, drain, enqueue_bulk, percentiles, producer, worker

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.postgres import PostgresServer, database_name
from workbell import Workbell
from workbell.claims.claiming import CLAIMS, HEADS
from workbell.model.state import succeed
from workbell.settings import Settings
from workbell.stores.port import LeaseTerms, Pick

LEASE = timedelta(minutes=10)
KEEP = timedelta(days=7)
FILLED_GOAL = 1.2
DEAD_GOAL = 2.0
HOLD_GOAL = 1.3
LEVEL_GOAL = 1.1  # of sizes, once the old session has ended and a vacuum has run
PROBES = 20.0  # single stamped runs a second

PARTS = ("survey", "claim", "finish")


def verdict(ratio: float, goal: float) -> str:
    return f"goal {goal:g} x: {'ok' if ratio <= goal else 'MISSED'}"


# Filled: a store with millions of rows beside an empty one


class Side:
    """One store, whose runs are claimed and finished by its verbs as a worker does it, in this thread."""

    def __init__(self, url: str, server: PostgresServer | None) -> None:
        self.bell = Workbell(settings=Settings(url=url))
        self._job = define(self.bell)
        self._server = server
        self._database = database_name(url)
        self._filler = Filler(url)
        self._picks: list[Pick] = []
        self._batch = 0
        self.bell.store.check()
        self.add(2)
        self.batch(1, [])  # one waits, one is finished: the models that are copied
        self._batch = 0

    def fill(self, waiting: int, finished: int) -> None:
        self._filler.add_waiting(waiting)
        self._filler.add_finished(finished)

    def add(self, count: int) -> None:
        enqueue_bulk(self.bell, self._job, count)

    def settle(self) -> None:
        self._filler.settle()

    def batch(self, size: int, times: list[tuple[float, ...]]) -> None:
        """Claim and finish a batch; notes how long each part took. A survey serves `CLAIMS` claims, as in a worker."""
        runs, now = self.bell.store.runs, self.bell.store.clock.now()
        began = time.perf_counter()
        if self._batch % CLAIMS == 0:
            self._picks = [Pick(head.lane_id, head.rank, size) for head in runs.survey(-1, HEADS)]
        self._batch += 1
        surveyed = time.perf_counter()
        taken = runs.claim(self._picks, size, LeaseTerms.drawn("growth", now, now + LEASE))
        claimed = time.perf_counter()
        booked = runs.apply([succeed(run, now, result=None, keep=KEEP) for run in taken])
        finished = time.perf_counter()
        assert len(taken) == len(booked) == size, (len(taken), len(booked), size)
        times.append((surveyed - began, claimed - surveyed, finished - claimed))

    def server_cpu(self) -> float:
        """Seconds of CPU of the server's processes that serve this database."""
        return 0.0 if self._server is None else backend_cpu(self._server, self._database)

    def close(self) -> None:
        self._filler.close()
        self.bell.close()


def backend_cpu(server: PostgresServer, database: str) -> float:
    used = 0.0
    for process in psutil.Process(server.pid).children():
        try:
            if f" {database} " in " ".join(process.cmdline()):
                used += sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return used


def compare_filled(sides: dict[str, Side], given: argparse.Namespace) -> None:
    ratios: dict[str, list[float]] = {part: [] for part in (*PARTS, "all", "CPU here", "server CPU")}
    whole: dict[str, list[float]] = {name: [] for name in sides}
    batches: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(given.rounds + 1):
        times: dict[str, list[tuple[float, ...]]] = {name: [] for name in sides}
        for side in sides.values():
            side.add(given.batches * given.size)
            side.settle()
        cpu = {name: -side.server_cpu() for name, side in sides.items()}
        here = dict.fromkeys(sides, 0.0)
        for batch in range(given.batches):
            for name in sorted(sides, reverse=bool(batch % 2)):
                used = time.process_time()
                sides[name].batch(given.size, times[name])
                here[name] += time.process_time() - used
        if number == 0:
            continue  # warms caches and connections
        cpu = {name: cpu[name] + side.server_cpu() for name, side in sides.items()}
        sums = {name: [sum(column) for column in zip(*times[name], strict=True)] for name in sides}
        for place, part in enumerate(PARTS):
            ratios[part].append(sums["filled"][place] / sums["empty"][place])
        ratios["all"].append(sum(sums["filled"]) / sum(sums["empty"]))
        ratios["CPU here"].append(here["filled"] / here["empty"])
        if cpu["empty"]:
            ratios["server CPU"].append(cpu["filled"] / cpu["empty"])
        for name in sides:
            whole[name].append(sum(sums[name]))
            batches[name] += [sum(parts) for parts in times[name]]
    for name in ("empty", "filled"):
        rate = given.batches * given.size / median(whole[name])
        print(f"  {name:7} {rate:8,.0f} runs/s   median batch {1000 * median(batches[name]):6.2f} ms")
    shown = ", ".join(f"{part} {median(found):.2f}" for part, found in ratios.items() if found)
    spread = f"rounds {min(ratios['all']):.2f} to {max(ratios['all']):.2f}"
    ratio = median(ratios["all"])
    print(f"  filled / empty: {shown}   ({spread})   {verdict(ratio, FILLED_GOAL)}", flush=True)


def filled(given: argparse.Namespace) -> None:
    with ExitStack() as stack:
        stores: dict[str, tuple[Callable[[], str], PostgresServer | None]] = {}
        if "sqlite" in given.stores:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            names = iter(("empty", "filled"))
            stores["SQLite"] = (lambda: f"sqlite:///{folder}/{next(names)}.db", None)
        if "postgres" in given.stores:
            server = stack.enter_context(postgres(given.setting))
            stores["PostgreSQL"] = (server.create_database, server)
        for title, (new_store, of_server) in stores.items():
            sides = {name: Side(new_store(), of_server) for name in ("empty", "filled")}
            began = time.perf_counter()
            sides["filled"].fill(given.waiting, given.finished)
            took = time.perf_counter() - began
            print(
                f"{title}: {given.waiting:,} waiting and {given.finished:,} finished runs (filled in {took:.0f} s); "
                f"{given.batches} batches of {given.size} in turn, {given.rounds} rounds",
                flush=True,
            )
            compare_filled(sides, given)
            for side in sides.values():
                side.close()


# Snapshots


@contextmanager
def postgres(settings: Sequence[str] = ()) -> Iterator[PostgresServer]:
    """`settings`: of the server, as `name=value`."""
    server = PostgresServer().start()
    try:
        for setting in settings:
            name, _, value = setting.partition("=")
            server.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        server.execute("SELECT pg_reload_conf()")
        yield server
    finally:
        server.remove()


@contextmanager
def idle_in_transaction(url: str, is_there: bool = True) -> Iterator[None]:
    """A session with a snapshot that stays open: no row that dies meanwhile can be removed."""
    if not is_there:
        yield
        return
    with psycopg.connect(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM workbell_meta")
        yield
        connection.rollback()


# Dead heads: dead entries before the first that lives


def add_dead_heads(url: str, count: int) -> int:
    """Runs that are made, started and ended by SQL, each step a transaction; how many dead rows that leaves."""
    filler = Filler(url)
    filler.add_waiting(count)
    connection = filler.connection
    made = connection.execute("SELECT count(*) FROM workbell_runs WHERE status = 'queued'").fetchone()[0]
    connection.execute(
        "UPDATE workbell_runs SET status = 'running', token = 1, attempt = attempt + 1, worker = 'dead', "
        "lease_until = now() + interval '1 hour', started_at = now(), updated_at = now() WHERE status = 'queued'"
    )
    connection.execute("DELETE FROM workbell_runs WHERE status = 'running'")
    connection.execute("ANALYZE workbell_runs")
    filler.close()
    return int(made)


class Found(NamedTuple):
    """What one measurement of a worker gave: runs a second, and milliseconds."""

    rate: float
    p50: float
    p99: float
    done: float  # share of the offered runs that were done by the end


def measure_dead_heads(server: PostgresServer, heads: int, given: argparse.Namespace) -> Found:
    url = server.create_database()
    with Workbell(settings=Settings(url=url)) as bell:
        job = define(bell)
        bell.store.check()
        job.enqueue()  # the model that is copied
        with idle_in_transaction(url):
            if heads:
                add_dead_heads(url, heads)
            with worker(url) as child:
                if not heads:
                    child.wait_for(1, 30)
                drain(bell, job, child, 500)
                rate = drain(bell, job, child, given.backlog)
                found = offered(url, child, given)
    server.drop_database(url)
    return Found(rate, *found)


def offered(url: str, child: Worker, given: argparse.Namespace) -> tuple[float, float, float]:
    """Latency under a constant load: a quarter of it single probes."""
    before = child.done
    child.take_latencies()
    with producer(url, given.offered * 0.75, given.offered * 0.25) as source:
        time.sleep(given.seconds)
    child.wait_for(before + source.made, 15)
    time.sleep(0.5)
    p50, p99 = percentiles(child.take_latencies())
    return p50, p99, (child.done - before) / source.made


def dead_heads(given: argparse.Namespace) -> None:
    count = given.dead_heads
    print(f"PostgreSQL, an old snapshot open: no and {count:,} dead entries at the head of a lane")
    found: dict[int, list[Found]] = {0: [], count: []}
    with postgres(given.setting) as server:
        for number in range(given.dead_rounds):
            for heads in (0, count) if number % 2 == 0 else (count, 0):
                one = measure_dead_heads(server, heads, given)
                found[heads].append(one)
                print(
                    f"  {heads:9,} dead: drain of {given.backlog:,} at {one.rate:7,.0f} runs/s   at {given.offered:g} "
                    f"runs/s offered p50 {one.p50:7.1f} ms, p99 {one.p99:7.1f} ms, {one.done:.0%} done",
                    flush=True,
                )
    without, with_them = (Found(*map(median, zip(*found[heads], strict=True))) for heads in (0, count))
    slower = without.rate / with_them.rate
    p50, p99 = with_them.p50 / without.p50, with_them.p99 / without.p99
    print(
        f"  with / without: drain {slower:.2f} times slower, p50 {p50:.2f}, p99 {p99:.2f}   "
        f"{verdict(max(slower, p50, p99), DEAD_GOAL)}",
        flush=True,
    )


# Hold: constant load for a long time

SIZES = """
SELECT pg_relation_size('workbell_runs'), pg_relation_size('workbell_runs_queued'),
    pg_relation_size('workbell_runs_pkey'), pg_relation_size('workbell_runs_running'),
    pg_total_relation_size('workbell_history'),
    (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'workbell_runs'),
    (SELECT vacuum_count + autovacuum_count FROM pg_stat_user_tables WHERE relname = 'workbell_runs')
"""
HEAD = (
    "  minute  offered/s    done/s  behind   p50 ms   p99 ms   runs MB  queued MB  pkey MB  running MB  history MB"
    "   dead rows  vacuums"
)


class Minute(NamedTuple):
    p50: float
    p99: float
    live_bytes: int  # of workbell_runs with these indexes
    vacuums: int


def watch(minutes: int, first: int, ends: Any, url: str, child: Worker, source: Any, length: float) -> list[Minute]:
    """One line a minute."""
    found = []
    with psycopg.connect(url, autocommit=True) as connection:
        began = time.monotonic()
        made, done = source.made, child.done
        child.take_latencies()
        for number in range(first, first + minutes):
            time.sleep(max(began + (number - first + 1) * length - time.monotonic(), 0))
            p50, p99 = percentiles(child.take_latencies())
            runs, queued, pkey, running, history, dead, vacuums = connection.execute(SIZES).fetchone()
            now_made, now_done = source.made, child.done
            sizes = "  ".join(f"{size / 1e6:9,.1f}" for size in (runs, queued, pkey, running, history))
            print(
                f"  {number:6}  {(now_made - made) / length:9,.0f} {(now_done - done) / length:9,.0f} "
                f"{now_made - now_done - ends:7,} {p50:8.1f} {p99:8.1f} {sizes} {dead:11,} {vacuums:8}",
                flush=True,
            )
            made, done = now_made, now_done
            found.append(Minute(p50, p99, runs + queued + pkey + running, vacuums))
    return found


def early_and_late(found: Sequence[Minute]) -> tuple[Sequence[Minute], Sequence[Minute]]:
    """Minutes 2 to 11 and the last ten; of a shorter run two windows that do not overlap."""
    width = max(min(10, (len(found) - 1) // 2), 1)
    return found[1 : 1 + width] or found, found[-width:]


def hold_once(server: PostgresServer, old_session: bool, given: argparse.Namespace) -> None:
    url = server.create_database()
    print(f"PostgreSQL, {given.minutes} minutes {'with' if old_session else 'without'} a session idle in transaction")
    with Workbell(settings=Settings(url=url)) as bell, worker(url) as child:
        job = define(bell)
        bell.store.check()
        most = median([drain(bell, job, child, 20_000) for _ in range(3)])
        rate = given.rate or most / 2
        print(f"  full speed {most:,.0f} runs/s; offered {rate:,.0f} runs/s and {PROBES:g} probes/s")
        print(HEAD, flush=True)
        drained = child.done
        with producer(url, rate, PROBES) as source:
            ends = -drained
            with idle_in_transaction(url, old_session):
                found = watch(given.minutes, 1, ends, url, child, source, given.minute)
            early, late = early_and_late(found)
            before, after = median(one.p99 for one in early), median(one.p99 for one in late)
            print(
                f"  p99: minutes 2 to {1 + len(early)} {before:.1f} ms, last {len(late)} {after:.1f} ms: "
                f"{after / before:.2f} x   {verdict(after / before, HOLD_GOAL)}",
                flush=True,
            )
            if old_session:
                print("  the session has ended")
                rest = watch(given.after, given.minutes + 1, ends, url, child, source, given.minute)
                print_level(found[-1], rest)
            else:
                grown = median(one.live_bytes for one in late) / median(one.live_bytes for one in early)
                print(f"  size of the live table and its indexes: {grown:.2f} x   {verdict(grown, HOLD_GOAL)}")
    server.drop_database(url)


def print_level(at_end: Minute, rest: Sequence[Minute]) -> None:
    """Do sizes stay the same once a vacuum has made the dead space usable? A table does not shrink by itself."""
    vacuumed = [one for one in rest if one.vacuums > at_end.vacuums]
    if len(vacuumed) < 2:
        print("  sizes: no vacuum within these minutes; MISSED (or --after is too short)")
        return
    grown = vacuumed[-1].live_bytes / vacuumed[0].live_bytes
    print(f"  size of the live table and its indexes after a vacuum: {grown:.2f} x   {verdict(grown, LEVEL_GOAL)}")


def hold(given: argparse.Namespace) -> None:
    with postgres(given.setting) as server:
        for old_session in (False, True) if given.session == "both" else (given.session == "with",):
            hold_once(server, old_session, given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    part = parser.add_argument_group("what to measure; without any of these: --filled and --dead-heads 1000000")
    part.add_argument("--filled", action="store_true")
    part.add_argument("--dead-heads", type=int, metavar="N", default=0)
    part.add_argument("--hold", action="store_true")
    parser.add_argument(
        "--setting", action="append", default=[], metavar="NAME=VALUE", help="of the server, to see what it changes"
    )
    some = parser.add_argument_group("--filled")
    some.add_argument("--waiting", type=int, default=1_000_000)
    some.add_argument("--finished", type=int, default=1_000_000)
    some.add_argument("--batches", type=int, default=100)
    some.add_argument("--size", type=int, default=100, help="runs of a batch")
    some.add_argument("--rounds", type=int, default=5)
    some.add_argument("--stores", nargs="+", default=["sqlite", "postgres"], choices=["sqlite", "postgres"])
    some = parser.add_argument_group("--dead-heads")
    some.add_argument("--backlog", type=int, default=5000, help="runs to drain")
    some.add_argument("--offered", type=float, default=400, help="runs a second, for the latency")
    some.add_argument("--seconds", type=float, default=15, help="for how long")
    some.add_argument("--dead-rounds", type=int, default=1)
    some = parser.add_argument_group("--hold")
    some.add_argument("--minutes", type=int, default=20)
    some.add_argument("--after", type=int, default=5, help="minutes after the session has ended")
    some.add_argument("--minute", type=float, default=60, help="seconds that count as one minute: for a quick look")
    some.add_argument("--rate", type=float, default=0, help="runs a second; 0: half of the full speed")
    some.add_argument("--session", choices=["both", "with", "without"], default="both")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C: all that was started is ended on the way out
    if not (given.filled or given.dead_heads or given.hold):
        given.filled, given.dead_heads = True, 1_000_000
    if given.filled:
        filled(given)
    if given.dead_heads:
        dead_heads(given)
    if given.hold:
        hold(given)


if __name__ == "__main__":
    main()
