"""`workbell events match`: the tester. Which triggers and endpoints hear events of a type, and if none, what to do."""

from __future__ import annotations

from collections.abc import Sequence

import click

from workbell.cli.bell import opened_store
from workbell.cli.output import make_console, one_line, print_json
from workbell.cli.project import json_option, open_project, store_options, tenant_option
from workbell.cli.runs.find import short
from workbell.model.event_hearers import Hearer

NAME = 40


@click.command(help="Say which triggers and endpoints hear events of a type.")
@click.argument("event_type", metavar="TYPE")
@store_options
@tenant_option
@json_option
def match(event_type: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_store(open_project(url=url, tenant=tenant), to_look=True) as bell:
        found = bell.events.match(event_type)
        triggers, endpoints = (
            ([], []) if found else (bell.triggers.list(), bell.store.subscribers.list_endpoints(bell.tenant))
        )
    if as_json:
        print_json([hearer.as_dict() for hearer in found])
    elif found:
        _show(found)
    else:
        from workbell.cli.events.remedy import remedy

        patterns = [(one.pattern, one.name) for one in triggers]
        patterns += [(pattern, one.shown_url) for one in endpoints for pattern in one.patterns]
        click.echo(f"Nothing hears {event_type}. {remedy(event_type, patterns)}")


def counted(hearers: Sequence[Hearer]) -> str:
    """`2 triggers and 1 endpoint hear it (1 disabled)`."""
    if not hearers:
        return "nothing hears it"
    parts = []
    for kind in ("trigger", "endpoint"):
        number = sum(hearer.kind == kind for hearer in hearers)
        parts += [f"{number:,} {kind}{'' if number == 1 else 's'}"] if number else []
    off = sum(not hearer.enabled for hearer in hearers)
    verb = "hears" if len(hearers) == 1 else "hear"
    return f"{' and '.join(parts)} {verb} it" + (f" ({off:,} disabled)" if off else "")


def _show(found: Sequence[Hearer]) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = []
    for hearer in found:
        name = one_line(hearer.name, NAME) if hearer.kind == "trigger" else short(hearer.id)
        what = f"starts {hearer.job}" if hearer.job is not None else f"sends to {hearer.name}"
        why = f" ({one_line(hearer.reason)})" if hearer.reason else ""
        cells = [
            Text(hearer.kind, "dim"),
            Text(name),
            Text(" ".join(hearer.patterns)),
            Text("on", "green") if hearer.enabled else Text("off", "yellow"),
        ]
        rows.append(TableRow(cells, Text(one_line(what) + why)))
    print_rows(console, ("who", "name", "pattern", ""), "what it does", rows)
