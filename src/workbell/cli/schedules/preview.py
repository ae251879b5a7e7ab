"""`workbell schedules preview`: the next ticks, of a schedule by its name or of a cron expression."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import click

from workbell.cli.bell import now_of
from workbell.cli.output import make_console, make_table, print_json
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.values import INSTANT
from workbell.process.identity import timezone_name
from workbell.settings import find_file, load
from workbell.timing import Cron, resolve_timezone

MOST = 100_000
NONE = timedelta()


class Preview(NamedTuple):
    what: dict[str, Any]
    timezone: str
    words: str
    after: datetime
    ticks: Sequence[datetime]


@click.command(help="Show the next ticks of a schedule, or of a cron expression.")
@click.argument("name", required=False)
@click.option("--cron", metavar="TEXT", help="An expression instead of a name; needs no project and no store.")
@click.option("--timezone", metavar="ZONE", help="Of the expression; otherwise the setting, else the machine's.")
@click.option("--after", type=INSTANT, metavar="TIME", help="Such as 2026-11-16T09:00:00Z; otherwise now.")
@limit_option(MOST, default=5)
@client_options
@tenant_option
@json_option
def preview(
    name: str | None,
    cron: str | None,
    timezone: str | None,
    after: datetime | None,
    limit: int,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    if (name is None) == (cron is None):
        raise click.UsageError("Give either the name of a schedule or --cron.")
    if cron is not None:
        found = _of_expression(cron, timezone, after or datetime.now(UTC), limit)
    elif timezone is not None:
        raise click.UsageError("--timezone goes with --cron; a schedule has its own.")
    else:
        assert name is not None
        found = _of_schedule(name, after, limit, url, tenant)
    if as_json:
        described = {"timezone": found.timezone, "description": found.words, "ticks": found.ticks}
        print_json(found.what | described)
    else:
        _show(found)


def _of_expression(expression: str, timezone: str | None, after: datetime, number: int) -> Preview:
    zone = timezone or load(file=find_file()).timezone or timezone_name()
    cron = Cron(expression, zone)
    return Preview({"cron": cron.expression}, zone, cron.describe(), after, cron.ticks(after, number))


def _of_schedule(name: str, after: datetime | None, number: int, url: str | None, tenant: str | None) -> Preview:
    from workbell.cli.bell import opened_client
    from workbell.cli.words import timing_in_words

    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        schedule = bell.schedules.get(name)
        since = after or now_of(bell)
        ticks = bell.schedules.preview(name, number, after=since)
    cron = schedule.expression if schedule.kind == "cron" else None
    what = {"schedule": name, "kind": schedule.kind, "expression": schedule.expression, "cron": cron}
    return Preview(what, schedule.timezone, timing_in_words(schedule), since, ticks)


def _show(found: Preview) -> None:
    from rich.text import Text

    console = make_console()
    console.print(found.words[:1].upper() + found.words[1:], markup=False)
    if not found.ticks:
        console.print("There is no tick any more.", style="yellow")
        return
    zone = resolve_timezone(found.timezone)
    before = found.after.astimezone(zone)
    rows = []
    for tick in found.ticks:
        here = tick.astimezone(zone)
        rows.append(
            (f"{here:%a %Y-%m-%d %H:%M:%S} {offset(here)}", f"{tick:%Y-%m-%d %H:%M:%S}Z", _clocks(before, here))
        )
        before = here
    # What says nothing is left out: UTC beside itself, and that no clock changes.
    columns = [
        found.timezone,
        *(["UTC"] if zone.key != "UTC" else []),
        *(["clocks"] if any(row[2] for row in rows) else []),
    ]
    table = make_table(*columns, whole=(found.timezone, "UTC"))
    for local, utc, clocks in rows:
        cells = {found.timezone: Text(local), "UTC": Text(utc) if zone.key != "UTC" else Text(local)}
        table.add_row(*(cells.get(column, Text(clocks, "yellow")) for column in columns))
    console.print(table)


def _clocks(before: datetime, here: datetime) -> str:
    """Note on a tick beside a clock change."""
    notes = []
    if before.utcoffset() != here.utcoffset():
        notes.append(f"{offset(before)} to {offset(here)}")
    if here.fold:
        notes.append("comes twice: the second")
    elif (here.utcoffset() or NONE) > (here.replace(fold=1).utcoffset() or NONE):
        notes.append("comes twice: the first")
    return "; ".join(notes)


def offset(moment: datetime) -> str:
    """`+01:00`."""
    return moment.isoformat()[19 + 7 * bool(moment.microsecond) :]
