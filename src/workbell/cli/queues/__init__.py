"""`workbell queues`: queues with their waiting runs; pause and resume."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

COMMANDS = {
    "list": Lazy("workbell.cli.queues.list:list_queues", "List the queues: what waits and runs, and what is paused."),
    "pause": Lazy("workbell.cli.queues.pause:pause", "Start no more runs of a queue until it is resumed."),
    "resume": Lazy("workbell.cli.queues.pause:resume", "Let the runs of a paused queue start again."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, help="See the queues, and pause and resume them.")
def queues() -> None: ...
