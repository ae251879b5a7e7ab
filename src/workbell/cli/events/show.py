"""`workbell events show`: an event and its matches with their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec

from workbell.cli.bell import AnyRun, now_of, opened_client
from workbell.cli.find import find_event, runs_by_id, short
from workbell.cli.output import echo, make_console, one_line, print_facts, print_json, printable
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import ago, local
from workbell.model.event import Event
from workbell.model.event_subscribers import Matched

if TYPE_CHECKING:
    from rich.console import Console

BESIDE = 60  # letters of data that stand beside its name


@click.command("show", help="Show an event, and its matches with their outcomes.")
@click.argument("event_id", metavar="ID")
@client_options
@tenant_option
@json_option
def show_event(event_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        event = find_event(bell, event_id)
        matches = bell.events.matches(event.id)
        runs = runs_by_id(bell, [match.run for match in matches if match.run is not None])
        now = now_of(bell)
    if as_json:
        described = [match.as_dict() | {"run_status": _status(match, runs)} for match in matches]
        print_json(event.as_dict() | {"matches": described})
        return
    console = make_console()
    print_facts(console, _facts(event, now))
    _show_data(console, event)
    _show_matches(console, event, matches, runs)


def _facts(event: Event, now: datetime) -> list[tuple[str, str]]:
    facts = [
        ("event", event.id),
        ("type", event.type),
        ("time", f"{local(event.time)}, {ago(event.time, now)}"),
        ("source", event.source),
    ]
    optional = [
        ("subject", event.subject),
        ("key", event.key),
        ("emitted by", "Workbell itself" if event.system else None),
        ("run", event.cause),
        ("depth", f"{event.depth}: so many events lie behind it" if event.depth else None),
    ]
    facts += [(name, value) for name, value in optional if value]
    short_data = event.data_text is None or len(event.data_text) <= BESIDE
    return [*facts, ("data", event.data_text or "none")] if short_data else facts


def _show_data(console: Console, event: Event) -> None:
    """Values too long to stand beside their name, printed below it."""
    if event.data_text is None or len(event.data_text) <= BESIDE:
        return
    console.print("\n  Data", style="bold")
    for line in printable(msgspec.json.format(event.data_text, indent=2)).splitlines():
        console.print(f"  {line}", markup=False, soft_wrap=True)


def _show_matches(console: Console, event: Event, matches: Sequence[Matched], runs: Mapping[str, AnyRun]) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows
    from workbell.cli.events.outcome import outcome_text, what_came_of

    if event.fanned_out_at is None:
        echo("\nIt is not fanned out yet: a scheduler does that, of `workbell start` or `workbell dev`.")
        return
    if not matches:
        echo(f"\nIt matched nothing; `workbell events match {event.type}` says what would.")
        return
    console.print("\n  What it matched", style="bold")
    rows = []
    for match in matches:
        run = None if match.run is None else runs.get(match.run)
        shown = "" if match.run is None else short(match.run) if console.is_terminal else match.run
        name = one_line(match.name or f"{match.subscriber} (removed)", 60)
        cells = [outcome_text(match.outcome, match.run, run, console), Text(name), Text(shown, "dim")]
        rows.append(TableRow(cells, Text(what_came_of(match.reason, run))))
    print_rows(console, ("outcome", "trigger or endpoint", "run"), "details", rows)


def _status(match: Matched, runs: Mapping[str, AnyRun]) -> str | None:
    run = None if match.run is None else runs.get(match.run)
    return None if run is None else run.status.value
