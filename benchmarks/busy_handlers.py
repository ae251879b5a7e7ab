"""CPU-bound handlers, plain functions that compute for 1 ms and for 20 ms, beside peers. `make bench-busy` runs it.

A loop in pure Python is calibrated once, and every system executes the same number of iterations in 10 threads of one
process, which share the interpreter's lock. Measured are

- the drain rate;
- the start delay of an async neighbour (a plain function in huey), enqueued every 20 ms meanwhile with a priority
  above the busy runs;
- with a lease of 2 s, the least remaining lease of a running run, and the number of lost leases. Runs of 300 ms take
  longer than that lease when 10 share a core: only renewals keep them.

PgQueuer is shown without and with its `concurrency_limit`: the one is better at drains, the other for the neighbour.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rivals.processes import end_on_signals
from rivals.report import Contest, Rounds, Row, cell, show, spread, write
from rivals.systems import Failed, Figures, Site, System, opened

THREADS = 10  # Workbell's default concurrency
LEASE = 2.0  # seconds
LONG = 300.0  # ms: more than the lease, when 10 of them share a core
NEIGHBOURS = 300  # 6 s of paced runs
PG, SQLITE, HUEY = "workbell_pg", "workbell_sqlite", "huey_sqlite"
PGQUEUER, LIMITED = "pgqueuer", "pgqueuer_limited"
MEASURES = ("drain", "neighbour", "lease")


def calibrate() -> float:
    """Iterations of the loop in a millisecond, from the fastest of a few tries."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENCH_FOLDER"] = folder  # the module of the handlers opens its files there
        from rivals.hits import compute
    iterations, fastest = 100_000, float("inf")
    for _ in range(10):
        began = time.perf_counter()
        compute(iterations)
        fastest = min(fastest, time.perf_counter() - began)
    return iterations / fastest / 1000


def busy(system: System, runs: int, iterations: int, neighbours: int = 0) -> Figures:
    """Work off CPU-bound runs that wait; the latency of neighbours if there are any."""
    system.reset()
    system.do("busy", runs, iterations)
    found = system.work_off(runs, neighbours=neighbours)
    return found | (system.latencies(neighbours) if neighbours else {})


def contests(site: Site, per_ms: float, spans: list[float], seconds: float) -> list[Contest]:
    def contest(what: str, ms: float, names: list[str], neighbours: int = 0) -> Contest:
        runs, iterations = max(int(seconds * 1000 / ms), 3 * THREADS), int(per_ms * ms)
        systems = {name: site.system(name) for name in names}
        measures = {name: partial(busy, one, runs, iterations, neighbours) for name, one in systems.items()}
        return Contest(f"{what} {ms:g} ms", what, measures)

    everybody = [SQLITE, HUEY, PG, PGQUEUER, LIMITED]
    found = [contest("drain", ms, everybody) for ms in spans]
    found += [contest("neighbour", ms, everybody, NEIGHBOURS) for ms in spans]
    return [*found, contest("lease", LONG, [SQLITE, PG])]


def rows(spans: list[float]) -> list[Row]:
    pairs = [(SQLITE, HUEY, "SQLite"), (PG, PGQUEUER, "PostgreSQL"), (PG, LIMITED, "PostgreSQL")]
    found = [
        Row(f"drain {ms:g} ms", f"drain, {ms:g} ms a run, {store}", ours, peer)
        for ms in spans
        for ours, peer, store in pairs
    ]
    found += [
        Row(f"neighbour {ms:g} ms", f"neighbour {share}, {ms:g} ms a run, {store}", ours, peer, share, " ms")
        for ms in spans
        for ours, peer, store in pairs
        for share in ("p50", "p99")
    ]
    return found


def show_details(rounds: Rounds) -> bool:
    """CPU time a run, and leases; whether no lease was over."""
    print(f"\nCPU time a run (above the handler's own: overhead), and leases of {LEASE:g} s while runs are running")
    print(f"{'':18} {'':16} {'worker':30} {'server':24} {'least remaining lease':24} lost")
    kept = True
    for contest, found in rounds.figures.items():
        for name in found:
            worker, server, least, lost = (
                spread(rounds.values(contest, name, key)) for key in ("worker_cpu", "server_cpu", "least_lease", "lost")
            )
            line = f"{contest:18} {name:16} {cell(worker, ' µs'):30} {cell(server, ' µs'):24} {cell(least, ' s'):24}"
            if least is not None and lost is not None:
                good = least["least"] > 0 and not lost["most"]
                kept = kept and good
                line += f" {lost['most']:.0f} {'ok' if good else 'missed'}"
            print(line.rstrip())
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ms", default="1,20", help="how long the handlers compute")
    parser.add_argument("--seconds", type=float, default=8, help="how long a drain would take with no overhead")
    parser.add_argument("--only", default=",".join(MEASURES), help=f"some of {','.join(MEASURES)}")
    given = parser.parse_args()
    spans, only = [float(ms) for ms in given.ms.split(",")], given.only.split(",")
    end_on_signals()
    per_ms, rounds = calibrate(), Rounds()
    print(f"{per_ms:,.0f} iterations a millisecond", flush=True)
    with opened(BENCH_THREADS=str(THREADS), BENCH_LEASE=str(LEASE)) as site:
        rounds.play([one for one in contests(site, per_ms, spans, given.seconds) if one.group in only], given.rounds)
    lines = [line for line in map(rounds.line, rows(spans)) if line is not None]
    if lines:
        show(lines, f"CPU-bound handlers, {given.rounds} alternating rounds: median (range)")
    kept = show_details(rounds)
    write("busy", rounds, lines, leases_kept=kept, given=vars(given), iterations_per_ms=per_ms)
    for error in rounds.errors:
        print(error, file=sys.stderr)
    return 1 if rounds.errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
