"""PgQueuer with `concurrency_limit` on CPU-bound runs: drains short ones slowly, and starts a neighbour soon.

The limit counts a run until its buffered completion is written, so 10 runs pass about every 100 ms.
"""

from __future__ import annotations

from functools import partial

from . import pgqueuer
from .pgqueuer import *  # noqa: F403

worker = partial(pgqueuer.worker, pgqueuer.THREADS)
