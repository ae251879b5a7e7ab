"""`workbell events match`: pattern tester. Which triggers and endpoints match a type, and the remedy if none does."""

from __future__ import annotations

from collections.abc import Sequence

import click

from workbell.cli.bell import opened_client
from workbell.cli.find import short
from workbell.cli.output import echo, make_console, one_line, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.model.event_subscribers import EventSubscriber

NAME = 40


@click.command(help="Say which triggers and endpoints match events of a type.")
@click.argument("event_type", metavar="TYPE")
@client_options
@tenant_option
@json_option
def match(event_type: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = bell.events.match(event_type)
        triggers, endpoints = ([], []) if found else (bell.triggers.list(), bell.webhooks.list())
    if as_json:
        print_json([subscriber.as_dict() for subscriber in found])
    elif found:
        _show(found)
    else:
        from workbell.cli.events.remedy import remedy

        patterns = [(one.pattern, one.name) for one in triggers]
        patterns += [(pattern, one.shown_url) for one in endpoints for pattern in one.patterns]
        echo(f"Nothing matches {event_type}. {remedy(event_type, patterns)}")


def counted(subscribers: Sequence[EventSubscriber]) -> str:
    """`2 triggers and 1 endpoint match it (1 disabled)`."""
    if not subscribers:
        return "nothing matches it"
    parts = []
    for kind in ("trigger", "endpoint"):
        number = sum(subscriber.kind == kind for subscriber in subscribers)
        parts += [f"{number:,} {kind}{'' if number == 1 else 's'}"] if number else []
    off = sum(not subscriber.enabled for subscriber in subscribers)
    verb = "matches" if len(subscribers) == 1 else "match"
    return f"{' and '.join(parts)} {verb} it" + (f" ({off:,} disabled)" if off else "")


def _show(found: Sequence[EventSubscriber]) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = []
    for subscriber in found:
        name = one_line(subscriber.name, NAME) if subscriber.kind == "trigger" else short(subscriber.id)
        what = f"starts {subscriber.job}" if subscriber.job is not None else f"sends to {subscriber.name}"
        why = f" ({one_line(subscriber.reason)})" if subscriber.reason else ""
        cells = [
            Text(subscriber.kind, "dim"),
            Text(name),
            Text(" ".join(subscriber.patterns)),
            Text("on", "green") if subscriber.enabled else Text("off", "yellow"),
        ]
        rows.append(TableRow(cells, Text(one_line(what) + why)))
    print_rows(console, ("who", "name", "pattern", ""), "what it does", rows)
