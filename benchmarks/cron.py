"""Finding the next tick: Workbell against cronsim and croniter, in turn, in one process.

Each library finds the same row of ticks, one after the other from the same start, and they take turns so that a busy
machine slows all alike. Medians of the rounds are shown; a ratio above 1 says how much longer the other one took.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from time import perf_counter
from zoneinfo import ZoneInfo

from cronsim import CronSim

from workbell.timing import Cron

try:
    from croniter import croniter
except ImportError:  # not needed for anything but this comparison
    croniter = None

EXPRESSIONS = ["*/5 * * * *", "0 3 * * *", "30 9 * * 1-5", "0 0 1 * *", "15,45 8-18 * * MON-FRI"]
ZONES = ["UTC", "Europe/Paris"]
START = datetime(2026, 1, 1, tzinfo=UTC)

Walk = Callable[[str, str, int], datetime]


def walk_workbell(expression: str, zone: str, ticks: int) -> datetime:
    cron, instant = Cron(expression, zone), START
    for _ in range(ticks):
        instant = cron.next(instant) or instant
    return instant


def walk_cronsim(expression: str, zone: str, ticks: int) -> datetime:
    start = START if zone == "UTC" else START.astimezone(ZoneInfo(zone))
    walk, instant = CronSim(expression, start), start
    for _ in range(ticks):
        instant = next(walk)
    return instant


def walk_croniter(expression: str, zone: str, ticks: int) -> datetime:
    walk = croniter(expression, START.astimezone(ZoneInfo(zone)))
    instant = START
    for _ in range(ticks):
        instant = walk.get_next(datetime)
    return instant


def measure(walks: dict[str, Walk], expression: str, zone: str, ticks: int, rounds: int) -> dict[str, float]:
    """Microseconds a tick, by library."""
    taken: dict[str, list[float]] = {name: [] for name in walks}
    for _ in range(rounds):
        for name, walk in walks.items():
            begin = perf_counter()
            walk(expression, zone, ticks)
            taken[name].append((perf_counter() - begin) / ticks * 1_000_000)
    return {name: median(times) for name, times in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=200, help="ticks to find in each round")
    parser.add_argument("--rounds", type=int, default=15, help="rounds; medians are shown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    walks: dict[str, Walk] = {"workbell": walk_workbell, "cronsim": walk_cronsim}
    if croniter is not None:
        walks["croniter"] = walk_croniter
    rows = [
        {"expression": expression, "zone": zone, **measure(walks, expression, zone, given.ticks, given.rounds)}
        for zone in ZONES
        for expression in EXPRESSIONS
    ]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'expression':24} {'zone':13}" + "".join(f"{name + ' µs':>13}" for name in walks), end="")
    print("".join(f"{name + ' ×':>13}" for name in list(walks)[1:]))
    for row in rows:
        print(f"{row['expression']:24} {row['zone']:13}" + "".join(f"{row[name]:13.2f}" for name in walks), end="")
        print("".join(f"{row[name] / row['workbell']:13.1f}" for name in list(walks)[1:]))


if __name__ == "__main__":
    main()
