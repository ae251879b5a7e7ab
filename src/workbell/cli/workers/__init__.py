"""`workbell workers`: who is there to run something."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

COMMANDS = {"list": Lazy("workbell.cli.workers.listed:list_workers", "List the workers, and what they are doing.")}


@click.group(cls=LazyGroup, lazy=COMMANDS, help="See the workers of every machine, and what they are doing.")
def workers() -> None: ...
