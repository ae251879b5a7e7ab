"""`workbell events list`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from workbell.cli.bell import now_of, opened_client, say_empty
from workbell.cli.find import event_cursor, short
from workbell.cli.output import echo, make_console, one_line, print_json
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.words import ago, or_unreadable
from workbell.model.event import Event
from workbell.runs.filters import PAGE

NAME = 40  # letters of a type or a source


@click.command("list", help="List events, newest first.")
@click.option("--type", "event_type", metavar="PATTERN", help="Only of this type, or of a pattern such as orders.*.")
@limit_option(PAGE)
@click.option("--before", metavar="ID", help="Only older ones: the last event of the page before.")
@client_options
@tenant_option
@json_option
def list_events(
    event_type: str | None, limit: int, before: str | None, url: str | None, tenant: str | None, as_json: bool
) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        last = None if before is None else event_cursor(bell, before)
        found = bell.events.list(type=event_type, before=last, limit=limit)
        now = now_of(bell)
    if as_json:
        print_json([event.as_dict() for event in found])
    elif not found and (event_type is not None or before is not None):
        echo("No event matches the filter.")
    elif not found:
        say_empty(bell, "There are no events yet; `workbell events emit TYPE` emits one.")
    else:
        _show(found, now)
        if len(found) == limit:
            echo(f"Older ones: --before {found[-1].id}", err=True)


def _show(found: Sequence[Event], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = [
        TableRow(
            [
                Text(ago(event.created_at, now), "dim"),
                # A pipe leads to a program, which needs all of it.
                Text(short(event.id) if console.is_terminal else event.id, "dim"),
                Text(one_line(event.type, NAME), "cyan" if event.system else ""),
                Text(one_line(event.source, NAME), "dim"),
            ],
            Text(or_unreadable(event, about(event))),
        )
        for event in found
    ]
    print_rows(console, ("when", "event", "type", "source"), "data", rows, right=("when",))


def about(event: Event) -> str:
    """In one line: what it is about, and its data."""
    subject = [one_line(event.subject)] if event.subject is not None else []
    data = [one_line(event.data_text)] if event.data_text not in (None, "null") else []
    return " ".join([*subject, *data])
