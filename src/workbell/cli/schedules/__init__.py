"""`workbell schedules`: schedules of the store, and the outcomes of their ticks."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.schedules"
COMMANDS = {
    "list": Lazy(f"{PACKAGE}.list_and_show:list_schedules", "List the schedules: when each ticks, next and last."),
    "show": Lazy(f"{PACKAGE}.list_and_show:show_schedule", "Show all details of a schedule."),
    "add": Lazy(f"{PACKAGE}.add:add", "Add a schedule for a job."),
    "run": Lazy(
        f"{PACKAGE}.run:run_schedule",
        "Run a schedule's job now, with its input and settings; its ticks go on as before.",
    ),
    "update": Lazy(f"{PACKAGE}.update:update", "Change what is given; the rest stays."),
    "pause": Lazy(f"{PACKAGE}.pause_and_remove:pause", "Pause a schedule: its ticks make no runs until it is resumed."),
    "resume": Lazy(f"{PACKAGE}.pause_and_remove:resume", "Resume a paused schedule from its next tick."),
    "remove": Lazy(f"{PACKAGE}.pause_and_remove:remove", "Remove a schedule; its runs stay."),
    "preview": Lazy(f"{PACKAGE}.preview:preview", "Show the next ticks of a schedule, or of a cron expression."),
    "ticks": Lazy(f"{PACKAGE}.ticks:ticks", "Show the outcomes of a schedule's ticks, newest first."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="List, add, change, preview, run, pause and remove schedules, and show outcomes of ticks.",
)
def schedules() -> None: ...
