"""What an engine is there for: all of it in one process, or a part beside others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbell.engine.journal import Journal


class Role(NamedTuple):
    """Without anything said: schedules and work, on every queue, with nobody watching over the process."""

    queues: Sequence[str] | None = None
    concurrency: int | None = None
    schedules: bool = True
    works: bool = True
    board: Journal | None = None  # where a supervisor sees what is being executed
    announce: Callable[[str], None] | None = None  # told the worker's id before anything is claimed
    logs_runs: bool = True  # a line for each run, through the logger `workbell.runs`
    give_up: Callable[[str], None] | None = None  # ends the process, when the store cannot be reached any more


ALL = Role()
