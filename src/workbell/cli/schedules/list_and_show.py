"""`workbell schedules list` and `workbell schedules show`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from workbell.cli.bell import now_of, opened_client, say_empty
from workbell.cli.header import all_schedules
from workbell.cli.output import make_console, one_line, print_facts, print_json, wide_option
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import ago, local, next_in_words, retry_in_words, settings_in_words, timing_in_words
from workbell.model.alert import shown_url
from workbell.model.schedule import Schedule
from workbell.model.trigger import OPTION_FIELDS

STYLES = {"success": "green", "failed": "red", "deferred": "blue", "skipped": "yellow", "scheduler_failed": "red"}
WORDS = {"success": "succeeded", "scheduler_failed": "the scheduler failed"}


@click.command("list", help="List the schedules: when each ticks, next and last.")
@wide_option
@client_options
@tenant_option
@json_option
def list_schedules(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = all_schedules(bell)
        now = now_of(bell)
    if as_json:
        print_json([as_dict(schedule) for schedule in found])
    elif found:
        _show_table(found, now)
    else:
        say_empty(bell, "There are no schedules yet; `workbell schedules add` makes one, and so does a job file.")


def as_dict(schedule: Schedule) -> dict[str, Any]:
    return schedule.as_dict() | {"in_words": timing_in_words(schedule)}


def _show_table(schedules: list[Schedule], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    rows = []
    for schedule in schedules:
        upcoming = next_in_words(schedule, now)
        of_job = "" if schedule.job == schedule.name else f"{one_line(schedule.job)}: "
        last = Text(last_in_words(schedule, now), STYLES.get(schedule.last_status or "", "dim"))
        if upcoming.why:
            last.append(f"; {upcoming.why}", upcoming.style)
        cells = [
            Text(one_line(schedule.name)),
            Text(of_job + timing_in_words(schedule)),
            Text(upcoming.word, upcoming.style),
        ]
        rows.append(TableRow(cells, last))
    print_rows(make_console(), ("schedule", "when", "next"), "last", rows, cut={"when": 16, "schedule": 16})


def last_in_words(schedule: Schedule, now: datetime) -> str:
    """Its last status, which is that of a run that ended or of a tick, and how long ago its last run was due."""
    if schedule.last_status is None:
        return "never"
    when = ago(schedule.last_run_at or schedule.last_fire_at, now)
    return f"{WORDS.get(schedule.last_status, schedule.last_status)} {when}".strip()


@click.command("show", help="Show all details of a schedule.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def show_schedule(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        schedule = bell.schedules.get(name)
        now = now_of(bell)
    if as_json:
        print_json(as_dict(schedule))
    else:
        print_facts(make_console(), _facts(schedule, now))


def _facts(schedule: Schedule, now: datetime) -> list[tuple[str, str]]:
    options = schedule.options
    due = "" if schedule.next_run_at is None else f", at {local(schedule.next_run_at)}"
    facts = [
        ("schedule", schedule.name),
        ("job", schedule.job),
        ("when", timing_in_words(schedule)),
        (str(schedule.kind), schedule.expression),
        ("time zone", schedule.timezone),
        ("next", f"{next_in_words(schedule, now)}{due}"),
        ("last", last_in_words(schedule, now)),
        ("runs", f"{schedule.run_count:,} made, {schedule.failure_count:,} failed"),
        ("overlap", str(options.overlap)),
        (
            "catch up",
            f"{options.catch_up}, at most {options.catch_up_cap}"
            if options.catch_up == "all"
            else str(options.catch_up),
        ),
    ]
    optional = [
        ("last run", schedule.last_run_id),
        ("error", schedule.last_error and one_line(schedule.last_error)),
        ("outside", str(options.outside) if options.window else None),
        ("jitter", f"{options.jitter:g} s" if options.jitter else None),
        ("retry", retry_in_words(options.retry) if options.retry else None),
        *settings_in_words(options, OPTION_FIELDS),
        ("alerts", shown_url(options.alert_url)),
        ("pings", shown_url(options.ping_url)),
        ("input", options.input if schedule.input else None),
        ("about", options.description),
        ("by", options.created_by),
        ("declared", source_in_words(schedule)),
    ]
    return facts + [(name, value) for name, value in optional if value]


def source_in_words(schedule: Schedule) -> str:
    """The declaration that it comes from, and that repeats it."""
    kind, _, project = schedule.source.partition(":")
    return {"file": f"by a job file of {project}", "code": f"in the code of {project}"}.get(kind, f"by hand ({kind})")
