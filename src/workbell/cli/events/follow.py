"""`workbell events tail`: new events as they are emitted."""

from __future__ import annotations

from contextlib import closing

import click

from workbell.cli.bell import opened_client
from workbell.cli.events.listed import about
from workbell.cli.find import short
from workbell.cli.output import echo, make_console, one_line, print_json_line
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import local
from workbell.model.event import Event

WIDTH = 24  # columns for a type; a longer one takes what it needs


@click.command(help="Print events as they come, until Ctrl-C.")
@click.option("--type", "event_type", metavar="PATTERN", help="Only of this type, or of a pattern such as orders.*.")
@client_options
@tenant_option
@json_option
def tail(event_type: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    # Creates a missing store: the events will be written there.
    with opened_client(open_project(url=url, tenant=tenant), create=True) as bell:
        found = bell.events.tail(type=event_type)
        what = "events" if event_type is None else f"events that match {event_type}"
        echo(f"Waiting for {what}; Ctrl-C ends.", err=True)
        try:
            with closing(found):
                for event in found:
                    if as_json:
                        print_json_line(event.as_dict())
                    else:
                        _print(event)
        except KeyboardInterrupt:
            return  # that is how it ends


def _print(event: Event) -> None:
    from rich.text import Text

    console = make_console()
    line = Text().append(f"{local(event.time)[11:]} ", "dim")
    line.append(f"{one_line(event.type):{WIDTH}} ", "cyan" if event.system else "bold")
    line.append(f"{short(event.id)} {one_line(event.source, 40)} ", "dim").append(about(event))
    line.rstrip()
    console.print(line, soft_wrap=True)
    console.file.flush()
