"""Measures what a run costs, and prints the tables of docs/explanation/capacity.md; `--write` puts them there.

Bytes of a waiting and of a finished run, bytes of the write-ahead log, CPU of worker and server, statements and
connections, on SQLite and on a PostgreSQL of its own; then what so many runs a day need, computed from these.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg
from load_processes import Worker, define, drain, enqueue_bulk, producer, worker

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.postgres import PostgresServer, database_name
from workbell import Workbell
from workbell.engine.clean_history import PAUSE
from workbell.model.state import succeed
from workbell.settings import Settings
from workbell.stores.port import LeaseTerms, Pick

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "capacity.md"
TEXT = "x" * 89  # makes an input of 100 bytes: {"text":"…"}
WORKER = "host/12345/1234567/0123456789ab"  # as long as the names of real ones
LEASE = timedelta(hours=1)
KEEP = timedelta(days=7)
BACKLOG = 50_000
ALONE = 2000  # runs that are written one by one
SINGLES, MORE_SINGLES = 50.0, 500.0  # runs a second, each enqueued by a call of its own
PEAK = 5  # times the average
WORKER_SHARE = 0.5  # of a core that a worker process is to use at a peak
DAYS = {"1 million": 1_000_000, "10 million": 10_000_000, "100 million": 100_000_000}
SETTLE = 11.0  # seconds until an idle server process has added its transactions to the statistics
STATEMENTS = """
SELECT COALESCE(sum(calls), 0) FROM pg_stat_statements
WHERE query NOT LIKE '%pg_stat_%' AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
TRANSACTIONS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
VACUUM_SHARE = 0.2  # of a table: PostgreSQL's default for dead rows before it is vacuumed


class Cost(NamedTuple):
    """Of one run: bytes of write-ahead log, and microseconds of CPU of this process and of the server."""

    log: float
    client: float = 0.0
    server: float = 0.0


class Sizes(NamedTuple):
    """Bytes of one run: its row, and its entries in all indexes; SQLite tells only the sum."""

    row: float
    indexes: float


class Load(NamedTuple):
    """Of one run under a load: microseconds of CPU of the worker and of the server, and statements sent to it.

    What the server does for the enqueue is included.
    """

    worker: float
    server: float  # the processes that serve connections
    whole: float  # all processes of the server: also those that write and vacuum
    statements: float = 0.0


class Found(NamedTuple):
    waiting: dict[str, Sizes]
    finished: dict[str, Sizes]
    costs: dict[str, dict[str, Cost]]  # by store and step
    loads: dict[str, Load]
    sqlite_drain: float  # microseconds of CPU of the worker
    counted: str  # statements, or transactions where these cannot be counted
    idle: float  # of them a second, in a process without work
    connections: dict[str, int]
    prune_batch: float  # seconds for 1,000 runs


# A store by its verbs


class Steps:
    """One store: what each step of a run costs, by the verbs that workers and callers use."""

    def __init__(self, bell: Workbell, log: Callable[[], int], server_cpu: Callable[[], float]) -> None:
        self.bell = bell
        self.job = define(bell)
        self._log = log
        self._server_cpu = server_cpu
        bell.store.check()
        self.job.enqueue(text=TEXT)  # connections are open, the lane is known
        self.finish(self.claim(1, 1), 1)

    def cost(self, count: int, work: Callable[[], Any]) -> tuple[Cost, Any]:
        log, used, served = self._log(), time.process_time(), self._server_cpu()
        answer = work()
        spent = self._log() - log, 1e6 * (time.process_time() - used), 1e6 * (self._server_cpu() - served)
        return Cost(*(value / count for value in spent)), answer

    def enqueue_alone(self, count: int) -> None:
        for _ in range(count):
            self.job.enqueue(text=TEXT)

    def claim(self, count: int, size: int) -> list[Any]:
        runs, taken = self.bell.store.runs, []
        picks = [Pick(head.lane_id, head.rank, size) for head in runs.survey(-1, 500)]
        while len(taken) < count:
            now = self.bell.store.clock.now()
            taken += runs.claim(picks, size, LeaseTerms.drawn(WORKER, now, now + LEASE))
        return taken

    def finish(self, taken: Sequence[Any], size: int) -> None:
        for start in range(0, len(taken), size):
            now = self.bell.store.clock.now()
            part = taken[start : start + size]
            self.bell.store.runs.apply([succeed(run, now, result=None, keep=KEEP) for run in part])

    def prune(self, count: int) -> float:
        """Remove what is finished; seconds for a batch."""
        later, gone, began = self.bell.store.clock.now() + 2 * KEEP, 0, time.perf_counter()
        while gone < count:
            gone += self.bell.store.prune(later, 1000)
        return 1000 * (time.perf_counter() - began) / gone

    def alone(self) -> dict[str, Cost]:
        found = {}
        found["enqueue, one by one"], _ = self.cost(ALONE, lambda: self.enqueue_alone(ALONE))
        found["claim, one by one"], taken = self.cost(ALONE, lambda: self.claim(ALONE, 1))
        found["finish, one by one"], _ = self.cost(ALONE, lambda: self.finish(taken, 1))
        return found


def all_steps(steps: Steps, count: int, sizes: Callable[[str], Sizes]) -> tuple[dict[str, Cost], Sizes, Sizes, float]:
    """Costs of each step; bytes of a waiting and of a finished run; seconds to remove a batch."""
    before = sizes("workbell_runs"), sizes("workbell_history")
    found = {}
    found["enqueue, 1,000 a call"], _ = steps.cost(count, lambda: enqueue_bulk(steps.bell, steps.job, count, text=TEXT))
    waiting = grown(before[0], sizes("workbell_runs"), count)
    found["claim, 100 at a time"], taken = steps.cost(count, lambda: steps.claim(count, 100))
    found["finish, 100 at a time"], _ = steps.cost(count, lambda: steps.finish(taken, 100))
    finished = grown(before[1], sizes("workbell_history"), count)
    found["remove, 1,000 at a time"], batch = steps.cost(count, lambda: steps.prune(count))
    sizes("workbell_runs")  # vacuumed: the steps one by one meet no dead rows of these
    return steps.alone() | found, waiting, finished, batch


def grown(before: Sizes, after: Sizes, count: int) -> Sizes:
    return Sizes(*((end - start) / count for start, end in zip(before, after, strict=True)))


# PostgreSQL


def backends(server: PostgresServer, database: str = "") -> float:
    """Seconds of CPU of the server's processes: of all, or of those that serve a database."""
    used = 0.0
    for process in psutil.Process(server.pid).children():
        with suppress(psutil.NoSuchProcess):
            if not database or f" {database} " in " ".join(process.cmdline()):
                used += sum(process.cpu_times()[:2])
    return used


def postgres_steps(server: PostgresServer, count: int) -> tuple[dict[str, Cost], Sizes, Sizes, float]:
    url = server.create_database()
    with psycopg.connect(url, autocommit=True) as connection, Workbell(settings=Settings(url=url)) as bell:

        def log() -> int:
            return int(one(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'"))

        def sizes(table: str) -> Sizes:
            connection.execute(f"VACUUM (ANALYZE) {table}")
            query = f"SELECT pg_table_size('{table}'), pg_indexes_size('{table}')"
            return Sizes(*connection.execute(query).fetchone())

        steps = Steps(bell, log, lambda: backends(server, database_name(url)))
        connection.execute("CHECKPOINT")  # so that none comes between: full pages follow each
        return all_steps(steps, count, sizes)


def one(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


class Statements:
    """Counts the statements sent to a database, without its own; transactions where the server cannot count them."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self.counted, self._query, self._settle = "statements", STATEMENTS, 0.2
        try:
            self._connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            self.read()
        except psycopg.Error:  # a build without it
            self.counted, self._query, self._settle = "transactions", TRANSACTIONS, SETTLE

    def read(self) -> float:
        time.sleep(self._settle)
        return float(one(self._connection, self._query))

    def close(self) -> None:
        self._connection.close()


def postgres_loads(
    server: PostgresServer, url: str, count: int, seconds: float
) -> tuple[dict[str, Load], dict[str, int]]:
    """A worker process under loads, and the connections of processes."""
    loads, connections = {}, {}
    with Workbell(settings=Settings(url=url)) as bell, worker(url) as child:
        job = define(bell)
        drain(bell, job, child, 2000)
        loads["backlog"] = under(server, url, child, lambda: drained(bell, job, child, count))
        for rate in (SINGLES, MORE_SINGLES):
            with producer(url, 0, rate) as source:
                time.sleep(1)
                loads[f"{rate:g}/s"] = under(server, url, child, lambda: worked(child, seconds))
                connections["a process that enqueues, in one thread"] = connected(source.process, server.port)
        connections["`bell.run()`: schedules and works"] = connected(child.process, server.port)
    return loads, connections | supervised_connections(server, url)


def count_statements(
    server: PostgresServer, url: str, loads: dict[str, Load], seconds: float
) -> tuple[dict[str, Load], str, float]:
    """The loads with their statements, what was counted, and how many a second there are without any run.

    The server is started anew for it: counting costs CPU, which was measured without.
    """
    server.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    try:
        server.restart()
    except RuntimeError:  # a build without it
        configured = server.data / "postgresql.auto.conf"
        configured.write_text("")
        server.start()
    with closing(Statements(url)) as statements, Workbell(settings=Settings(url=url)) as bell, worker(url) as child:
        job = define(bell)
        drain(bell, job, child, 2000)
        time.sleep(2)
        before, began = statements.read(), time.monotonic()
        time.sleep(seconds)
        idle = (statements.read() - before) / (time.monotonic() - began)
        for name in loads:
            before, began, done = statements.read(), time.monotonic(), child.done
            if name == "backlog":
                drain(bell, job, child, BACKLOG)
            else:
                with producer(url, 0, float(name.removesuffix("/s"))):
                    time.sleep(seconds)
            time.sleep(1)
            sent = statements.read() - before - idle * (time.monotonic() - began)
            loads[name] = loads[name]._replace(statements=max(sent, 0) / (child.done - done))
        return loads, statements.counted, idle


def drained(bell: Workbell, job: Any, child: Worker, count: int) -> int:
    drain(bell, job, child, count)
    time.sleep(1)  # the last are booked
    return count


def worked(child: Worker, seconds: float) -> int:
    before = child.done
    time.sleep(seconds)
    return child.done - before


def under(server: PostgresServer, url: str, child: Worker, work: Callable[[], int]) -> Load:
    """CPU of a run; `work` answers how many there were."""
    used = child.cpu(), backends(server, database_name(url)), backends(server)
    count = work()
    now = child.cpu(), backends(server, database_name(url)), backends(server)
    return Load(*(1e6 * (after - before) / count for before, after in zip(used, now, strict=True)))


def connected(process: psutil.Process, port: int) -> int:
    return sum(bool(one.raddr) and one.raddr.port == port for one in process.net_connections("tcp"))


@contextmanager
def supervised(url: str, processes: int) -> Iterator[psutil.Process]:
    app = "from workbell import Workbell\nbell = Workbell()\n@bell.job\nasync def other() -> None: ...\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "capacity_app.py").write_text(app)
        environment = os.environ | {"WORKBELL_URL": url, "WORKBELL_LOG_LEVEL": "warning"}
        command = ["-m", "workbell", "worker", "--app", "capacity_app:bell", "--processes", str(processes)]
        process = subprocess.Popen([sys.executable, *command], cwd=folder, env=environment)
        try:
            yield psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def supervised_connections(server: PostgresServer, url: str) -> dict[str, int]:
    found = {}
    for processes in (1, 4):
        with supervised(url, processes) as parent:
            time.sleep(6)
            count = sum(connected(child, server.port) for child in [parent, *parent.children(recursive=True)])
        found[f"`workbell worker --processes {processes}`, all of it"] = count
    return found


# SQLite


def sqlite_steps(folder: str, count: int) -> tuple[dict[str, Cost], Sizes, Sizes, float]:
    file = Path(folder, "steps.db")
    with Workbell(settings=Settings(url=f"sqlite:///{file}")) as bell:
        bell.store.check()
        # A reader that stays keeps the log from being written from its start again: it only grows.
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM workbell_runs").fetchone()
            empty = pages(file)
            steps = Steps(bell, lambda: Path(f"{file}-wal").stat().st_size, lambda: 0.0)
            return all_steps(steps, count, lambda table: Sizes(pages(file) - empty, 0))


def pages(file: Path) -> int:
    """Bytes in use."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        size, used, free = (one(connection, f"PRAGMA {name}") for name in ("page_size", "page_count", "freelist_count"))
        return size * (used - free)


def sqlite_load(folder: str, count: int) -> float:
    url = f"sqlite:///{folder}/load.db"
    with Workbell(settings=Settings(url=url)) as bell, worker(url) as child:
        job = define(bell)
        drain(bell, job, child, 2000)
        used = child.cpu()
        drained(bell, job, child, count)
        return 1e6 * (child.cpu() - used) / count


# Tables


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Two or three figures: more would not be the same the next time."""
    if value <= 0:
        return "0"
    digits = max(-math.floor(math.log10(value)) + 1, -6)
    if value >= 100:
        return f"{round(value, min(digits, 0)):,.0f}"
    return f"{value:.{max(min(digits, 2), 0)}f}"


def size(value: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{number(value)} {unit}"
        value /= 1000
    return f"{number(value)} TB"


def bytes_table(found: Found) -> str:
    rows = []
    for store in found.waiting:
        for what, sizes in (("waiting", found.waiting[store]), ("finished", found.finished[store])):
            split = [number(sizes.row), number(sizes.indexes)] if sizes.indexes else ["", ""]
            rows.append([f"{store}, {what}", *split, number(sizes.row + sizes.indexes)])
    return table(["bytes of a run", "row", "indexes", "together"], rows)


def log_table(found: Found) -> str:
    postgres, sqlite = found.costs["PostgreSQL"], found.costs["SQLite"]
    rows = [[step, number(cost.log), number(sqlite[step].log)] for step, cost in postgres.items()]
    return table(["bytes of write-ahead log a run", "PostgreSQL", "SQLite"], rows)


def cpu_table(found: Found) -> str:
    rows = [
        [f"PostgreSQL, {step}", number(cost.client), number(cost.server), ""]
        for step, cost in found.costs["PostgreSQL"].items()
    ]
    for name, load in found.loads.items():
        cells = number(load.worker), number(load.server), number(load.whole)
        rows.append([f"PostgreSQL, worker, {load_name(name)}", *cells])
    rows += [[f"SQLite, {step}", number(cost.client), "", ""] for step, cost in found.costs["SQLite"].items()]
    rows.append([f"SQLite, worker, {load_name('backlog')}", number(found.sqlite_drain), "", ""])
    return table(["CPU of a run, µs", "process", "its server processes", "whole server"], rows)


def load_name(name: str) -> str:
    return f"a backlog of {BACKLOG:,}" if name == "backlog" else f"{name}, one by one"


def statements_table(found: Found) -> str:
    rows = [[f"a run, {load_name(name)}", number(load.statements)] for name, load in found.loads.items()]
    rows.append(["a second, of `bell.run()` without work", number(found.idle)])
    return table(["PostgreSQL", found.counted], rows)


def connections_table(found: Found) -> str:
    return table(["connections", "open"], [[name, str(count)] for name, count in found.connections.items()])


def days_table(found: Found) -> str:
    postgres = found.costs["PostgreSQL"]
    alone, bulk = postgres["enqueue, one by one"], postgres["enqueue, 1,000 a call"]
    removed = postgres["remove, 1,000 at a time"].log
    log_alone = removed + sum(cost.log for step, cost in postgres.items() if step.endswith("one by one"))
    log_batches = (
        removed + bulk.log + sum(cost.log for step, cost in postgres.items() if step.endswith("100 at a time"))
    )
    finished = sum(found.finished["PostgreSQL"]) * (1 + VACUUM_SHARE)
    columns = []
    for count in DAYS.values():
        average = count / 86400
        peak = PEAK * average
        basis = "backlog" if peak > 2000 else f"{MORE_SINGLES:g}/s" if peak > 200 else f"{SINGLES:g}/s"
        load = found.loads[basis]
        processes = max(math.ceil(peak * load.worker / 1e6 / WORKER_SHARE), 2)
        cells = {
            "runs/s on average": number(average),
            f"runs/s at a peak of {PEAK} times that": number(peak),
            "CPU figures taken from": load_name(basis),
            "worker cores at the peak, handlers not counted": number(peak * load.worker / 1e6),
            "server cores at the peak": number(peak * load.whole / 1e6),
            "cores of callers at the peak, one enqueue a run": number(peak * alone.client / 1e6),
            "server cores for these enqueues": number(peak * alone.server / 1e6),
            "worker processes (their connections)": f"{processes} ({3 * processes + 1})",
            "log a day, in batches": size(count * log_batches),
            "log a day, one by one": size(count * log_alone),
            "disk of the history for 7 days": size(7 * count * finished),
            "disk of the history for 30 days": size(30 * count * finished),
            "rows of the history for 7 days, millions": number(7 * count / 1e6),
            "dead rows until autovacuum comes to it, millions": number(VACUUM_SHARE * 7 * count / 1e6),
            "seconds an hour that `clean-history` deletes": number(count / 24 / 1000 * (found.prune_batch + PAUSE)),
        }
        columns.append(cells)
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return table(["runs a day", *DAYS], rows)


TABLES: dict[str, Callable[[Found], str]] = {
    "bytes": bytes_table,
    "log": log_table,
    "cpu": cpu_table,
    "statements": statements_table,
    "connections": connections_table,
    "days": days_table,
}


def write_page(texts: dict[str, str], machine: str) -> None:
    page = PAGE.read_text("utf-8")
    for name, text in {**texts, "machine": machine}.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, count = block.subn(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)
        assert count == 1, f"{PAGE.name} has {count} places for the table {name!r}"
    PAGE.write_text(page, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50_000, help="runs of the steps in batches")
    parser.add_argument("--seconds", type=float, default=12, help="of each load by rate")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as folder:
        costs_s, waiting_s, finished_s, _ = sqlite_steps(folder, given.runs)
        sqlite_drain = sqlite_load(folder, BACKLOG)
    server = PostgresServer().start()
    try:
        with psycopg.connect(server.url("postgres")) as connection:
            version = one(connection, "SHOW server_version").split(" ")[0]
        costs_p, waiting_p, finished_p, batch = postgres_steps(server, given.runs)
        url = server.create_database()
        loads, connections = postgres_loads(server, url, BACKLOG, given.seconds)
        loads, counted, idle = count_statements(server, url, loads, given.seconds)
    finally:
        server.remove()
    found = Found(
        {"PostgreSQL": waiting_p, "SQLite": waiting_s},
        {"PostgreSQL": finished_p, "SQLite": finished_s},
        {"PostgreSQL": costs_p, "SQLite": costs_s},
        loads,
        sqlite_drain,
        counted,
        idle,
        connections,
        batch,
    )
    machine = (
        f"*Measured* on {os.cpu_count()} cores of a cloud VM that all processes share, on its virtual disk, with "
        f"PostgreSQL {version}, SQLite {sqlite3.sqlite_version} and Python {sys.version.split()[0]}."
    )
    texts = {name: make(found) for name, make in TABLES.items()}
    print(machine, *texts.values(), sep="\n\n")
    if given.write:
        write_page(texts, machine)


if __name__ == "__main__":
    main()
