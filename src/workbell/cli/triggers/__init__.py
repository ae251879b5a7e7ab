"""`workbell triggers`: which events start which jobs."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.triggers"
COMMANDS = {
    "list": Lazy(f"{PACKAGE}.list_and_show:list_triggers", "List the triggers: which events start which jobs."),
    "show": Lazy(f"{PACKAGE}.list_and_show:show_trigger", "Show a trigger, and what it was matched by."),
    "add": Lazy(f"{PACKAGE}.add:add", "Start a job on every event that a pattern matches."),
    "update": Lazy(f"{PACKAGE}.update:update", "Change what is given; the rest stays."),
    "enable": Lazy(f"{PACKAGE}.enable_and_remove:enable", "Let a trigger start runs again."),
    "disable": Lazy(
        f"{PACKAGE}.enable_and_remove:disable",
        "Disable a trigger: it starts no more runs; what it matches is recorded.",
    ),
    "remove": Lazy(f"{PACKAGE}.enable_and_remove:remove", "Remove a trigger; its runs stay."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="See, add, change and remove triggers: which events start which jobs.\n\n"
    "NAME is the name of a trigger, or its id. In a PATTERN * stands for one segment, ** at the end for one or more, "
    "and * alone for every type but Workbell's own.",
)
def triggers() -> None: ...
