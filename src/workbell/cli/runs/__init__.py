"""`workbell runs`: the runs of the store, one by one."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.runs"
COMMANDS = {
    "list": Lazy(f"{PACKAGE}.listed:list_runs", "List runs, newest first."),
    "show": Lazy(f"{PACKAGE}.show:show_run", "Show all details of a run."),
    "logs": Lazy(f"{PACKAGE}.logs:logs", "Print what a run's handler logged."),
    "watch": Lazy(f"{PACKAGE}.watch:watch", "Watch a run until it has ended."),
    "cancel": Lazy(f"{PACKAGE}.cancel_retry_why:cancel", "End a run, or ask its handler to."),
    "retry": Lazy(f"{PACKAGE}.cancel_retry_why:retry", "Run the job of an ended run again, with the same input."),
    "why": Lazy(f"{PACKAGE}.cancel_retry_why:why", "Say why a run is not running, or how it ended."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="See, watch, cancel and repeat runs, read their logs, and ask why one does not run.\n\n"
    "ID is the id of a run, or at least six letters of its beginning or its end.",
)
def runs() -> None: ...
