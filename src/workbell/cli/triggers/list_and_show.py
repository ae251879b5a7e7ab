"""`workbell triggers list` and `workbell triggers show`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec

from workbell.cli.bell import AnyClient, AnyRun, now_of, opened_client, say_empty
from workbell.cli.find import runs_by_id, short
from workbell.cli.output import echo, make_console, one_line, print_facts, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import ago, local, or_unreadable, retry_in_words, settings_in_words
from workbell.errors import EventNotFound
from workbell.model.event import Event
from workbell.model.event_subscribers import Matched
from workbell.model.trigger import OPTION_FIELDS, Trigger

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

LAST = 5  # matches that are shown with a trigger
NAME = 40


@click.command("list", help="List the triggers: which events start which jobs.")
@client_options
@tenant_option
@json_option
def list_triggers(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = bell.triggers.list()
    if as_json:
        print_json([trigger.as_dict() for trigger in found])
    elif found:
        _show_table(found)
    else:
        say_empty(
            bell,
            "There are no triggers yet; `workbell triggers add` makes one, and so does @bell.on in code.",
        )


def _show_table(found: Sequence[Trigger]) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    rows = []
    for trigger in found:
        about = or_unreadable(trigger, one_line(trigger.description or source_in_words(trigger)))
        cells = [
            Text(one_line(trigger.name, NAME)),
            Text(trigger.pattern),
            Text(one_line(trigger.job, NAME)),
            _state(trigger),
        ]
        rows.append(TableRow(cells, Text(about, "" if trigger.description else "dim")))
    print_rows(make_console(), ("trigger", "pattern", "starts", ""), "about", rows)


def _state(trigger: Trigger) -> Text:
    from rich.text import Text

    return Text("on", "green") if trigger.enabled else Text("off", "yellow")


@click.command("show", help="Show a trigger, and what it was matched by.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def show_trigger(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        trigger = bell.triggers.get(name)
        matches = bell.triggers.matches(trigger.id, limit=LAST)
        events = _events(bell, matches)
        runs = runs_by_id(bell, [match.run for match in matches if match.run is not None])
        now = now_of(bell)
    if as_json:
        described = [_as_dict(match, events, runs) for match in matches]
        print_json(trigger.as_dict() | {"last_matches": described})
        return
    console = make_console()
    print_facts(console, _facts(trigger))
    if not matches:
        echo("\nNo event has matched it yet; `workbell events match TYPE` tries a type.")
        return
    _show_matches(console, matches, events, runs, now)


def _events(bell: AnyClient, matches: Sequence[Matched]) -> Mapping[str, Event]:
    """Those of the events that are still there."""
    found = {}
    for match in matches:
        with suppress(EventNotFound):
            found[match.event] = bell.events.get(match.event)
    return found


def _facts(trigger: Trigger) -> list[tuple[str, str]]:
    retry = "as the job does" if trigger.retry is None else retry_in_words(trigger.retry)
    return [
        ("trigger", trigger.name),
        ("id", trigger.id),
        *([("about", trigger.description)] if trigger.description else []),
        ("pattern", trigger.pattern),
        ("starts", trigger.job),
        ("state", "enabled" if trigger.enabled else "disabled: what it matches is noted, and starts nothing"),
        ("retry", retry),
        *settings_in_words(trigger.options, OPTION_FIELDS),
        ("declared", source_in_words(trigger)),
        ("changed", local(trigger.updated_at)),
    ]


def _show_matches(
    console: Console, matches: Sequence[Matched], events: Mapping[str, Event], runs: Mapping[str, AnyRun], now: datetime
) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows
    from workbell.cli.events.outcome import outcome_text, what_came_of

    console.print("\n  Last matched by", style="bold")
    rows = []
    for match in matches:
        event, run = events.get(match.event), None if match.run is None else runs.get(match.run)
        ids = [match.event, match.run or ""]
        cells = [
            Text(ago(match.created_at, now), "dim"),
            Text("" if event is None else event.type),
            *(Text(short(each) if console.is_terminal else each, "dim") for each in ids),
            outcome_text(match.outcome, match.run, run, console),
        ]
        rows.append(TableRow(cells, Text(what_came_of(match.reason, run))))
    print_rows(console, ("when", "type", "event", "run", "outcome"), "details", rows, right=("when",))


def _as_dict(match: Matched, events: Mapping[str, Event], runs: Mapping[str, AnyRun]) -> dict[str, object]:
    run = None if match.run is None else runs.get(match.run)
    event = events.get(match.event)
    more = {"type": None if event is None else event.type, "run_status": None if run is None else run.status}
    return msgspec.structs.asdict(match) | more


def source_in_words(trigger: Trigger) -> str:
    """The declaration that it comes from, and that repeats it."""
    kind, _, project = trigger.source.partition(":")
    return {"file": f"by a job file of {project}", "code": f"in the code of {project}"}.get(kind, "by hand")
