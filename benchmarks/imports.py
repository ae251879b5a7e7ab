"""Imports and starts: CPU time, time and modules of what a program loads first, beside Celery, Dramatiq and click.

    make bench-imports B="--rounds 10"

Each program is a process of its own. A round measures all of them once, and the next one turns the order around; a
ratio is of two processes of one round, both without what `python -c pass` takes. Sources are compiled before the first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from tempfile import TemporaryDirectory
from typing import NamedTuple

BARE = "python -c pass"
ENQUEUE = """from workbell import Workbell
bell = Workbell("sqlite:///imports.db")
@bell.job
def greet(name: str) -> str:
    return name
greet.enqueue("Ada")"""
PROGRAMS = {
    BARE: ["-c", "pass"],
    "import workbell": ["-c", "import workbell"],
    "import celery": ["-c", "import celery"],
    "import click": ["-c", "import click"],
    "from workbell import Workbell": ["-c", "from workbell import Workbell"],
    "from celery import Celery": ["-c", "from celery import Celery"],
    "import dramatiq": ["-c", "import dramatiq"],
    "from workbell import Client": ["-c", "from workbell import Client"],
    "a job declared and enqueued": ["-c", ENQUEUE],
    "workbell --help": ["-m", "workbell", "--help"],
    "workbell runs list": ["-m", "workbell", "runs", "list", "--url", "sqlite:///imports.db"],
}
RATIOS = [
    ("import workbell", "import celery"),
    ("from workbell import Workbell", "from celery import Celery"),
    ("from workbell import Workbell", "import dramatiq"),
    ("workbell --help", "import click"),
]
# What a process has loaded, told at its end: all, ours, and those of Python itself.
COUNT = """
import atexit, json, runpy, sys
def tell(bare=frozenset(sys.modules)):
    new = [name.partition(".")[0] for name in sys.modules if name not in bare]
    ours, theirs = new.count("workbell"), sum(name in sys.stdlib_module_names for name in new)
    print(json.dumps([len(new), ours, theirs]), file=sys.stderr)
atexit.register(tell)
"""


class Cost(NamedTuple):
    cpu: float  # milliseconds, of the user and of the system
    wall: float


def measure(arguments: list[str], folder: str) -> Cost:
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], cwd=folder, env=environment(), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{arguments} ended with {process.returncode}"
    return Cost((used.ru_utime + used.ru_stime) * 1000, wall * 1000)


def count(arguments: list[str], folder: str) -> list[int]:
    kind, what, *more = arguments
    run = what if kind == "-c" else f"sys.argv = {[what, *more]!r}; runpy.run_module({what!r}, run_name='__main__')"
    told = subprocess.run(
        [sys.executable, "-c", COUNT + run], cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    found: list[int] = json.loads(told.stderr.splitlines()[-1])
    return found


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("WORKBELL_", "PYTHON"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds: int = parser.parse_args().rounds
    costs: dict[str, list[Cost]] = {name: [] for name in PROGRAMS}
    with TemporaryDirectory(prefix="workbell-imports-") as folder:
        modules = {name: count(arguments, folder) for name, arguments in PROGRAMS.items()}  # compiles them as well
        for number in range(rounds):
            for name in list(PROGRAMS) if number % 2 == 0 else list(reversed(PROGRAMS)):
                costs[name].append(measure(PROGRAMS[name], folder))
    print(f"{'':32} {'CPU ms':>7} {'least':>7} {'ms':>7} {'modules':>8} {'ours':>5} {'stdlib':>7}")
    for name, measured in costs.items():
        cpu = [one.cpu for one in measured]
        wall = statistics.median(one.wall for one in measured)
        all_of_them, ours, theirs = modules[name]
        print(
            f"{name:32} {statistics.median(cpu):7.1f} {min(cpu):7.1f} {wall:7.1f} {all_of_them:8} {ours:5} {theirs:7}"
        )
    print()
    for name, other in RATIOS:
        ratios = [
            (mine.cpu - bare.cpu) / (its.cpu - bare.cpu)
            for mine, its, bare in zip(costs[name], costs[other], costs[BARE], strict=True)
            if its.cpu > bare.cpu
        ]
        print(f"{name} to {other}: CPU {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")


if __name__ == "__main__":
    main()
