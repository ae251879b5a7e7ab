"""`workbell events`: emitted events, their matches, and a pattern tester."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.events"
COMMANDS = {
    "emit": Lazy(f"{PACKAGE}.emit:emit", "Emit an event: every matching trigger starts a run."),
    "list": Lazy(f"{PACKAGE}.listed:list_events", "List events, newest first."),
    "show": Lazy(f"{PACKAGE}.show:show_event", "Show an event, and its matches with their outcomes."),
    "tail": Lazy(f"{PACKAGE}.follow:tail", "Print events as they come, until Ctrl-C."),
    "match": Lazy(f"{PACKAGE}.match:match", "Say which triggers and endpoints match events of a type."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="Emit events, see them as they come and what they matched, and test which triggers match a type.\n\n"
    "TYPE is segments joined by dots, such as posts.created; in a PATTERN * stands for one segment, ** at the end for "
    "one or more, and * alone for every type.",
)
def events() -> None: ...
