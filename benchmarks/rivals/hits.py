"""Hits: what every handler calls first. One byte a run; a stamped run adds its enqueue time and its start time.

Files and servers of a measurement come from the environment, which the parent process sets.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

FOLDER = Path(os.environ["BENCH_FOLDER"])
POSTGRES = os.environ.get("BENCH_POSTGRES", "")
COUNT, LATENCIES = FOLDER / "count", FOLDER / "latencies"
RECORD = struct.Struct("qq")  # when enqueued and when started, in nanoseconds

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_count, _latencies = os.open(COUNT, _FLAGS), os.open(LATENCIES, _FLAGS)


def hit(sent: int) -> None:
    """Count a handler start; `sent` is when its run was enqueued, 0 if nobody asks."""
    now = time.time_ns()
    if sent:
        os.write(_latencies, RECORD.pack(sent, now))
    os.write(_count, b".")


def compute(iterations: int) -> int:
    """Keep the interpreter busy: the body of CPU-bound handlers, the same amount of work in every system."""
    value = 1
    for _ in range(iterations):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value
