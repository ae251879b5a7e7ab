"""Role of an engine: scheduler and worker in one process, or one of them beside other processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbell.engine.finish import HandOver
from workbell.engine.journal import Journal


class Role(NamedTuple):
    """Default role: scheduler and worker, for every queue, without a supervisor."""

    queues: Sequence[str] | None = None
    concurrency: int | None = None
    schedules: bool = True
    works: bool = True
    journal: Journal | None = None  # of starts, which a supervisor reads
    announce: Callable[[str], None] | None = None  # called with the worker's id before anything is claimed
    logs_runs: bool = True  # a log line for each move of a run, through the logger `workbell.runs`
    probed: bool = False  # a probe reports whether the store answers: it is written to at every poll
    give_up: Callable[[str], None] | None = None  # ends the process, when the store cannot be reached any more
    hand_over: HandOver | None = None  # gives outcomes to the keeper, when this process must end before they are booked


ALL = Role()
