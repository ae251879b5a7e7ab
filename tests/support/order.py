"""In which order the tests run: the long ones first, so that at the end no process is left alone with them.

Each xdist worker begins with its part of the list and takes over the rest of others' parts from behind. The files in
which tests wait for processes are therefore dealt out to the fronts of the parts; but not to the last two, which begin
with what keeps a core busy.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

# Those whose single tests take longest come first.
SLOW = ("http/test_schema", "faults", "process", "docs", "integration/test_cli", "plans")


def put_in_order(items: list[pytest.Item], workers: int) -> None:
    """A file's tests stay together, in their order: some share what is costly to make."""
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    slow = sorted((tests for tests in files if place(tests[0]) < len(SLOW)), key=lambda tests: place(tests[0]))
    quick = [item for tests in files if place(tests[0]) == len(SLOW) for item in tests]
    fronts = max(1, workers - 2)
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for number, tests in enumerate(slow):
        parts[number % fronts] += tests
    for number, part in enumerate(parts):  # xdist gives each the same number of tests
        size = len(items) * (number + 1) // workers - len(items) * number // workers
        room = len(quick) if number == workers - 1 else max(0, size - len(part))
        part += quick[:room]
        del quick[:room]
    items[:] = [item for part in parts for item in part]


def place(item: pytest.Item) -> int:
    """Among the slow ones, or behind them."""
    path = item.path.relative_to(Path(__file__).parents[1]).as_posix()
    return next((number for number, start in enumerate(SLOW) if path.startswith(start)), len(SLOW))
