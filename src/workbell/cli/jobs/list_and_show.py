"""`workbell jobs list` and `workbell jobs show`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from workbell.cli.bell import AnyRun, now_of, opened_here, say_empty
from workbell.cli.jobs.known import KnownJob, all_jobs, find_job, mention_problems
from workbell.cli.output import make_console, one_line, print_facts, print_json, wide_option
from workbell.cli.project import code_options, json_option, open_project, tenant_option
from workbell.cli.words import (
    ago,
    due_in,
    limits_in_words,
    local,
    next_in_words,
    or_unreadable,
    retry_in_words,
    settings_in_words,
    timing_in_words,
)
from workbell.model.alert import shown_url
from workbell.model.job import CLEAN
from workbell.model.retry import DEFAULT
from workbell.model.run import Status
from workbell.model.run_settings import SETTINGS

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {Status.SUCCEEDED: "green", Status.FAILED: "red", Status.CANCELED: "magenta", Status.RUNNING: "cyan"}


@click.command("list", help="List the jobs: when each runs next, and how it ended last.")
@wide_option
@code_options
@tenant_option
@json_option
def list_jobs(app: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    project = open_project(app=app, url=url, tenant=tenant)
    with opened_here(project, url, create=False) as here:
        jobs = all_jobs(here)
        now = now_of(here.bell)
    if as_json:
        print_json([job.as_dict() for job in jobs])
    elif jobs:
        _show_table(jobs, now)
    else:
        say_empty(here.bell, "There are no jobs yet; `workbell init` writes a first one.")
    mention_problems(here)


def _show_table(jobs: list[KnownJob], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    rows = []
    for job in jobs:
        last = job.last_run
        when = "; ".join([*map(timing_in_words, job.schedules), *_events(job)]) or _declared(job)
        style = "dim" if last is None else STYLES.get(last.status, "")
        cells = [_name(job), Text(when), _next(job, now), Text("never" if last is None else _last(last, now), style)]
        rows.append(TableRow(cells, Text(or_unreadable(job.job, one_line(job.where)), "dim")))
    print_rows(make_console(), ("job", "when", "next", "last"), "where", rows, cut={"when": 16, "job": 16})


def _name(job: KnownJob) -> Text:
    from rich.text import Text

    states = ["disabled"] * (not job.job.enabled) + ["paused"] * (job.pause is not None)
    return Text(one_line(job.job.name)).append("".join(f" {state}" for state in states), "yellow")


def _events(job: KnownJob) -> list[str]:
    return [f"on {', '.join(job.on)}"] if job.on else []


def _declared(job: KnownJob) -> str:
    if job.job.name == CLEAN:
        return "by itself (clean_every)"
    return "when asked" if job.declared is None else f"{job.declared} (not started yet)"


def _next(job: KnownJob, now: datetime) -> Text:
    from rich.text import Text

    if job.next_run_at is not None:
        return Text(due_in(job.next_run_at, now))
    if not job.schedules:
        return Text("–", "dim")
    upcoming = next_in_words(job.schedules[0], now)
    return Text(upcoming.word, upcoming.style)


def _last(run: AnyRun, now: datetime) -> str:
    return f"{run.status} {ago(run.finished_at or run.started_at or run.created_at, now)}"


def _definition(known: KnownJob) -> list[tuple[str, str]]:
    """Facts about a job that is data."""
    job = known.job
    if not job.is_definition:
        return []
    return [
        ("id", job.id),
        ("handler", job.handler),
        ("input", one_line(job.input_text or "none")),
        ("state", "enabled" if job.enabled else "disabled: it takes no new runs, and those that wait go on waiting"),
        ("created", local(job.created_at)),
        ("changed", local(job.updated_at)),
    ]


@click.command("show", help="Show all details of a job.")
@click.argument("name")
@code_options
@tenant_option
@json_option
def show_job(name: str, app: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    project = open_project(app=app, url=url, tenant=tenant)
    with opened_here(project, url, create=False) as here:
        known = find_job(here, name)
        now = now_of(here.bell)
    if as_json:
        print_json(known.as_dict())
        return
    job, last = known.job, known.last_run
    facts = [
        ("job", job.name),
        *([] if job.unreadable is None else [("unreadable", one_line(str(job.unreadable)))]),
        ("where", known.where if known.is_here or project.service else f"{known.where} (not in this folder)"),
        *_definition(known),
        *([] if known.pause is None else [("paused", f"since {local(known.pause.since)}; runs of it wait")]),
        ("about", job.description or "–"),
        *([] if known.signature is None else [("input", known.signature.in_words or "none")]),
        ("queue", job.queue),
        *([("priority", str(job.priority))] if job.priority else []),
        ("retry", retry_in_words(job.retry or DEFAULT)),
        ("timeout", "none" if job.timeout is None else f"{job.timeout:g} s"),
        *settings_in_words(job.options, [word for word in SETTINGS if word != "priority"]),
        *limits_in_words(job.limits),
    ]
    urls = (("alerts", job.alert_url), ("pings", job.ping_url))
    facts += [(word, shown) for word, url in urls if (shown := shown_url(url)) is not None]
    for schedule in known.schedules:
        upcoming = next_in_words(schedule, now)
        due = "" if schedule.next_run_at is None else f", at {local(schedule.next_run_at)}"
        facts.append(("schedule", f"{schedule.name}: {timing_in_words(schedule)}; next {upcoming}{due}"))
    if not known.schedules and (known.declared is not None or not known.on):
        facts.append(("schedule", _declared(known)))
    facts += [("on", pattern) for pattern in known.on]
    facts.append(("last run", "never" if last is None else f"{last.id} {_last(last, now)}"))
    if last is not None and last.error and last.status is not Status.SUCCEEDED:
        facts.append(("error", one_line(last.error)))
    print_facts(make_console(), facts)
