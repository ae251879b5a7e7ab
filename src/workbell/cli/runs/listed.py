"""`workbell runs list`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from workbell.cli.bell import AnyRun, now_of, opened_client, say_empty
from workbell.cli.find import run_cursor, short
from workbell.cli.output import WHOLE, echo, make_console, one_line, print_json, prints_whole, wide_option
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.runs.filters import filter_from, filter_options
from workbell.runs.filters import PAGE

NAME = 16  # letters of a job's name that are always shown


@click.command("list", help="List runs, newest first.")
@filter_options
@limit_option(PAGE)
@click.option("--before", metavar="ID", help="Only older ones: the last run of the page before.")
@wide_option
@client_options
@tenant_option
@json_option
def list_runs(limit: int, before: str | None, url: str | None, tenant: str | None, as_json: bool, **given: Any) -> None:
    wanted = filter_from(given)
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        last = None if before is None else run_cursor(bell, before)
        found = bell.runs(**wanted, before=last, limit=limit)
        now = now_of(bell)
    if as_json:
        print_json([run.as_dict() for run in found])
    elif not found and (wanted or before):
        echo("No run matches the filter.")
    elif not found:
        say_empty(bell, "There are no runs yet; `workbell jobs run NAME` makes one.")
    else:
        _show(found, now)
        if len(found) == limit:
            echo(f"Older ones: --before {found[-1].id}", err=True)


def _show(found: Sequence[AnyRun], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows
    from workbell.cli.runs.appearance import came, status_text, took_text, when

    console = make_console()
    whole = prints_whole(console)
    rows = [
        TableRow(
            [
                status_text(run, console),
                Text(named if whole else short(named), "dim"),
                Text(one_line(run.job)),
                Text(str(run.attempt or ""), "dim"),
                Text(when(run, now)),
                Text(took_text(run, now), "dim"),
            ],
            Text(came(run, WHOLE)),
        )
        for run in found
        for named in [one_line(run.imported_id or run.id)]
    ]
    names = ("status", "run", "job", "#", "when", "took")
    print_rows(console, names, "result", rows, right=("#", "took"), cut={"job": NAME})
