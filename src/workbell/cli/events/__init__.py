"""`workbell events`: facts that were told, what they matched, and who would hear of others."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.events"
COMMANDS = {
    "emit": Lazy(f"{PACKAGE}.emit:emit", "Tell a fact: every trigger that matches it starts a run."),
    "list": Lazy(f"{PACKAGE}.listed:list_events", "List events, newest first."),
    "show": Lazy(f"{PACKAGE}.show:show_event", "Show an event, what it matched and what came of it."),
    "tail": Lazy(f"{PACKAGE}.follow:tail", "Print events as they come, until Ctrl-C."),
    "match": Lazy(f"{PACKAGE}.match:match", "Say which triggers and endpoints hear events of a type."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="Emit events, see them as they come and what they matched, and try which triggers hear a type.\n\n"
    "TYPE is segments joined by dots, such as posts.created; in a PATTERN * stands for one segment, ** at the end for "
    "one or more, and * alone for every type.",
)
def events() -> None: ...
