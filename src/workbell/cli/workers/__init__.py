"""`workbell workers`: alive and lost workers; drain and resume."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

COMMANDS = {
    "list": Lazy("workbell.cli.workers.listed:list_workers", "List the workers, and what they are doing."),
    "drain": Lazy(
        "workbell.cli.workers.drain:drain", "Drain a worker: it claims no more runs, and finishes what it has."
    ),
    "rewinds": Lazy("workbell.cli.workers.listed:rewinds", "List runs that a rewind of the store concerns."),
    "resume": Lazy("workbell.cli.workers.drain:resume", "Let a drained worker claim runs again."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, help="See the workers of every machine and what they do, and drain them.")
def workers() -> None: ...
