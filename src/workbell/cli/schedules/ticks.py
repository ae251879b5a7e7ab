"""`workbell schedules ticks`: the fire ledger of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from workbell.cli.bell import opened_client
from workbell.cli.output import can_draw, echo, make_console, one_line, print_json, print_lines
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.values import INSTANT
from workbell.cli.words import local
from workbell.model.schedule import Tick, TickOutcome

STYLES = {
    TickOutcome.FIRED: ("✓", "+", "green"),
    TickOutcome.SKIPPED: ("–", "-", "yellow"),
    TickOutcome.COALESCED: ("⇉", "=", "cyan"),
    TickOutcome.DEFERRED: ("◷", "z", "blue"),
}


@click.command(help="Show the outcomes of a schedule's ticks, newest first.")
@click.argument("name")
@limit_option(1000, default=50)
@click.option("--before", type=INSTANT, metavar="TIME", help="Only earlier ones: the end of the page before.")
@client_options
@tenant_option
@json_option
def ticks(name: str, limit: int, before: datetime | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = bell.schedules.ticks(name, before=before, limit=limit)
    if as_json:
        print_json([_as_dict(tick) for tick in found])
    elif found:
        _show(found)
    else:
        echo(f"{name} has had no tick yet.")


def _as_dict(tick: Tick) -> dict[str, Any]:
    return msgspec.structs.asdict(tick) | {"run_id": tick.run, "noted_at": tick.created_at}


def _show(found: Sequence[Tick]) -> None:
    from rich.text import Text

    console = make_console()
    symbols = can_draw(console)
    lines = []
    for tick in found:
        symbol, plain, style = STYLES[tick.outcome]
        line = Text().append(f"{local(tick.due)} ", "dim")
        line.append(f"{symbol if symbols else plain} {tick.outcome:9} ", style)
        lines.append((line, Text("\n" if console.is_terminal else "; ").join(Text(part) for part in _parts(tick))))
    print_lines(console, lines)


def _parts(tick: Tick) -> list[str]:
    parts = [] if tick.count == 1 else [f"{tick.count:,} ticks, until {local(tick.until)}"]
    if tick.run is not None:
        parts.append(tick.run)
    return parts + ([one_line(tick.reason)] if tick.reason else [])
