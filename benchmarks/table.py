"""One table of Workbell, its peers and raw SQL, in alternating rounds. `make bench-table` runs it.

Drain: runs a second from the first handler start until the store has nothing unfinished, by workers that are started
for it; their start-up is not counted. Enqueue: runs a second of one process, after a first call that connects.
Latency: from just before the enqueue call to the handler start in an idle worker, 300 runs 20 ms apart. Every handler
writes one byte. A ratio is the median of the ratios of the rounds, with its range.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rivals.processes import end_on_signals
from rivals.report import Contest, Rounds, Row, cell, show, spread, write
from rivals.systems import Failed, Figures, Site, opened

PG, SQLITE = "workbell_pg", "workbell_sqlite"
HUEY, PGQUEUER, GRAPHILE = "huey_sqlite", "pgqueuer", "graphile_worker"
RAW = "raw SQL"
BARE_PG, BARE_SQLITE = "bare_postgres", "bare_sqlite"
HUEY_SHARE = 2  # huey drains a part of the runs: it is some ten times slower
BURST_SHARE = 4
SUPERVISED_TIMES = 5  # as many runs: the second child of a supervisor is up some tenths of a second after the first
ONE_BY_ONE = 3000
BULK = 1000  # runs a call
GROUPS = ("drain", "supervised", "latency", "enqueue", "idle")

ROWS = [
    Row("drain pg 1", "drain {runs}, PostgreSQL, 1 process", PG, PGQUEUER, goal=">= 1.8"),
    Row("drain pg 1", "drain {runs}, PostgreSQL, 1 process", PG, GRAPHILE, goal=">= 1.0"),
    Row("drain pg 2", "drain {runs}, PostgreSQL, 2 processes", PG, PGQUEUER, goal=">= 1.7"),
    Row("drain pg burst", "drain {burst}, PostgreSQL, 1 process", PG, PGQUEUER, goal=">= 1.5"),
    Row("drain sqlite 1", "drain {runs}, SQLite, 1 process", SQLITE, HUEY, goal=">= 10"),
    Row("drain sqlite 2", "drain {runs}, SQLite, 2 processes", SQLITE, HUEY, goal=">= 9"),
    Row("supervised pg", "`worker --processes 2`, PostgreSQL", f"{PG}:worker", PG, goal=">= 0.95"),
    Row("supervised pg", "`start --processes 2`, PostgreSQL", f"{PG}:start", PG, goal=">= 0.95"),
    Row("supervised sqlite", "`worker --processes 2`, SQLite", f"{SQLITE}:worker", SQLITE, goal=">= 0.95"),
    Row("supervised sqlite", "`start --processes 2`, SQLite", f"{SQLITE}:start", SQLITE, goal=">= 0.95"),
    Row("latency pg", "latency p50, PostgreSQL", PG, GRAPHILE, "p50", " ms", "<= 0.85"),
    Row("latency pg", "latency p99, PostgreSQL", PG, GRAPHILE, "p99", " ms", "<= 0.9"),
    Row("latency pg", "latency p50, PostgreSQL", PG, PGQUEUER, "p50", " ms"),
    Row("latency pg", "latency p99, PostgreSQL", PG, PGQUEUER, "p99", " ms"),
    Row("latency pg", "latency p50, PostgreSQL", PG, BARE_PG, "p50", " ms"),
    Row("latency sqlite", "latency p50, SQLite", SQLITE, HUEY, "p50", " ms", "<= 0.35"),
    Row("latency sqlite", "latency p99, SQLite", SQLITE, HUEY, "p99", " ms", "<= 0.45"),
    Row("latency sqlite", "latency p50, SQLite", SQLITE, BARE_SQLITE, "p50", " ms"),
    Row("enqueue pg", "enqueue one by one, PostgreSQL", PG, RAW, goal=">= 0.95"),
    Row("enqueue sqlite", "enqueue one by one, SQLite", SQLITE, RAW, goal=">= 0.95"),
    Row("bulk pg", "enqueue 1,000 a call, PostgreSQL", PG, RAW, goal=">= 0.45"),
    Row("bulk pg", "enqueue 1,000 a call, PostgreSQL", PG, PGQUEUER),
    Row("bulk sqlite", "enqueue 1,000 a call, SQLite", SQLITE, RAW, goal=">= 0.5"),
]


def contests(site: Site, runs: int) -> list[Contest]:
    """Everything that is measured in a round, in this order."""

    def drains(key: str, group: str, processes: int, **counts: int) -> Contest:
        measures = {name: partial(site.system(name).drain, n, processes) for name, n in counts.items()}
        return Contest(key, group, measures)

    def supervised(key: str, name: str) -> Contest:
        names = (name, f"{name}:worker", f"{name}:start")
        return drains(key, "supervised", 2, **dict.fromkeys(names, runs * SUPERVISED_TIMES))

    def latencies(key: str, *names: str) -> Contest:
        return Contest(key, "latency", {name: site.system(name).latency for name in names})

    def enqueues(key: str, ours: str) -> Contest:
        system, n = site.system(ours), min(runs, ONE_BY_ONE)
        return Contest(key, "enqueue", {ours: partial(system.enqueue, n), RAW: partial(system.raw, n, 1)})

    def bulks(key: str, ours: str, *peers: str) -> Contest:
        measures: dict[str, Callable[[], Figures]] = {ours: partial(site.system(ours).bulk, runs)}
        measures[RAW] = partial(site.system(ours).raw, runs, BULK)
        measures |= {name: partial(site.system(name).bulk, runs) for name in peers}
        return Contest(key, "enqueue", measures)

    burst, few = runs // BURST_SHARE, runs // HUEY_SHARE
    return [
        drains("drain pg 1", "drain", 1, **{PG: runs, PGQUEUER: runs, GRAPHILE: runs}),
        drains("drain pg 2", "drain", 2, **{PG: runs, PGQUEUER: runs}),
        drains("drain pg burst", "drain", 1, **{PG: burst, PGQUEUER: burst}),
        drains("drain sqlite 1", "drain", 1, **{SQLITE: runs, HUEY: few}),
        drains("drain sqlite 2", "drain", 2, **{SQLITE: runs, HUEY: few}),
        supervised("supervised pg", PG),
        supervised("supervised sqlite", SQLITE),
        latencies("latency pg", PG, GRAPHILE, PGQUEUER, BARE_PG),
        latencies("latency sqlite", SQLITE, HUEY, BARE_SQLITE),
        enqueues("enqueue pg", PG),
        enqueues("enqueue sqlite", SQLITE),
        bulks("bulk pg", PG, PGQUEUER),
        bulks("bulk sqlite", SQLITE),
    ]


def idles(site: Site) -> list[Contest]:
    """Measured once: an idle worker differs little from round to round."""
    return [Contest("idle", "idle", {name: site.system(name).idle for name in (PG, SQLITE)})]


def show_cpu(rounds: Rounds) -> None:
    print("\nCPU time a run during drains")
    print(f"{'':22} {'':26} {'worker':26} server")
    for contest, found in rounds.figures.items():
        for name in found:
            worker, server = (spread(rounds.values(contest, name, key)) for key in ("worker_cpu", "server_cpu"))
            if worker is not None:
                print(f"{contest:22} {name:26} {cell(worker, ' µs'):26} {cell(server, ' µs')}")


def show_idle(rounds: Rounds) -> None:
    print("\nAn idle worker, percent of a core and MB")
    print(f"{'':26} {'CPU %':>8} {'server %':>9} {'RSS':>8} {'PSS':>8}")
    for name, (found, *_) in rounds.figures["idle"].items():
        if found:
            print(f"{name:26} {found['cpu']:8.2f} {found['server_cpu']:9.2f} {found['rss']:8.1f} {found['pss']:8.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=20_000, help="runs of a drain and of a bulk enqueue")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"some of {','.join(GROUPS)}, or contests by key")
    given = parser.parse_args()
    only = given.only.split(",")
    end_on_signals()
    rounds = Rounds()
    with opened() as site:
        played = [one for one in contests(site, given.runs) if one.group in only or one.key in only]
        once = idles(site) if "idle" in only else []
        if not played + once:
            parser.error(f"--only {given.only}: nothing has that name")
        versions = read_versions(site, [*played, *once])
        rounds.play(played, given.rounds)
        rounds.play(once, 1)
    texts = {"runs": f"{given.runs:,}", "burst": f"{given.runs // BURST_SHARE:,}"}
    rows = [row._replace(what=row.what.format(**texts)) for row in ROWS]
    lines = [line for line in map(rounds.line, rows) if line is not None]
    if lines:
        show(lines, f"{given.rounds} alternating rounds: median (range)")
    if any(one.group in ("drain", "supervised") for one in played):
        show_cpu(rounds)
    if once:
        show_idle(rounds)
    write("table", rounds, lines, given={"runs": given.runs, "rounds": given.rounds}, systems=versions)
    for error in rounds.errors:
        print(error, file=sys.stderr)
    return 1 if rounds.errors else 0


def read_versions(site: Site, played: list[Contest]) -> dict[str, Figures]:
    """Versions and settings of the peers."""
    names = {name.split(":")[0] for contest in played for name in contest.contestants} - {RAW}
    return {name: site.system(name).do("info") for name in sorted(names)}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
