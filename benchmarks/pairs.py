"""Two checkouts of Workbell in alternating pairs: CPU time and statements a run, latency. Shows differences below 5 %.

    python benchmarks/pairs.py ../before . --pairs 10       (`make bench-pairs BASE=main~1` checks out the first one)
    python benchmarks/pairs.py ../before . --only sqlite-drain

Each figure is the CPU time of one process (and of PostgreSQL's processes) for one run, in microseconds. Each pair
measures both checkouts one after the other and turns the order around the next time. The ratio is after to before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.support.postgres import PostgresServer  # noqa: E402

STORES = ("sqlite", "postgres")
MEASURES = ("enqueue", "drain", "latency")
DEADLINE = 300  # seconds for one measurement


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout")
    parser.add_argument("after", type=Path, help="another one")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--runs", type=int, default=4000, help="runs of an enqueue; a drain has five times as many")
    parser.add_argument("--only", default="", help="such as sqlite-drain,postgres-enqueue")
    given = parser.parse_args()
    chosen = [f"{store}-{measure}" for store in STORES for measure in MEASURES]
    chosen = [name for name in chosen if not given.only or name in given.only.split(",")]
    server = PostgresServer(settings={"shared_preload_libraries": "pg_stat_statements"}) if _needs(chosen) else None
    if server is not None:
        server.start()
    try:
        for name in chosen:
            _pairs(name, given.before, given.after, given.pairs, given.runs, server)
    finally:
        if server is not None:
            server.remove()


def _needs(chosen: list[str]) -> bool:
    return any(name.startswith("postgres") for name in chosen)


def _pairs(name: str, before: Path, after: Path, pairs: int, runs: int, server: PostgresServer | None) -> None:
    found: dict[Path, list[dict[str, float]]] = {before: [], after: []}
    for number in range(pairs):
        order = (before, after) if number % 2 == 0 else (after, before)
        for checkout in order:
            found[checkout].append(_measure(name, checkout, runs, server))
    for figure in found[before][0]:
        first = [one[figure] for one in found[before]]
        second = [one[figure] for one in found[after]]
        ratios = [y / x for x, y in zip(first, second, strict=True) if x]
        if ratios:
            print(
                f"{name:18} {figure:16} {statistics.median(first):9.2f} → {statistics.median(second):9.2f}   "
                f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})   "
                f"of the least {min(second) / min(first) if min(first) else 0:.3f}",
                flush=True,
            )


def _measure(name: str, checkout: Path, runs: int, server: PostgresServer | None) -> dict[str, float]:
    store, _, measure = name.partition("-")
    with TemporaryDirectory(prefix="workbell-pairs-") as folder:
        url = f"sqlite:///{folder}/pairs.db"
        if store == "postgres":
            assert server is not None
            url = server.create_database()
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src"), "WORKBELL_LOG_LEVEL": "error"}
        command = [sys.executable, str(HERE / "pairs_child.py"), measure, url, str(runs)]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False
        )
        if done.returncode:
            raise SystemExit(f"{name} of {checkout}:\n{done.stdout}{done.stderr}")
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer


if __name__ == "__main__":
    main()
