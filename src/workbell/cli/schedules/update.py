"""`workbell schedules update`."""

from __future__ import annotations

from typing import Any, cast

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_here
from workbell.cli.jobs.known import make_known
from workbell.cli.output import echo, print_json
from workbell.cli.project import code_options, json_option, open_project, tenant_option
from workbell.cli.retrying import changed_retry, take_retry
from workbell.cli.schedules.list_and_show import as_dict
from workbell.cli.schedules.settings import RETRY, WHEN, check_when, given_settings, schedule_options
from workbell.cli.words import here_now, next_in_words, timing_in_words
from workbell.scheduling.settings import NAMES, ScheduleChanges

TAKEN_BACK = sorted(NAMES - {*WHEN, "anchor"})


@click.command(help="Change what is given; the rest stays.")
@click.argument("name")
@click.option("--job", metavar="NAME", help="Another job.")
@schedule_options
@click.option("--enable/--disable", "enabled", default=None, help="Switch it on or off.")
@click.option(
    "--default",
    "taken_back",
    type=click.Choice(TAKEN_BACK),
    multiple=True,
    help="Reset this setting to its default.",
)
@code_options
@tenant_option
@json_option
def update(
    name: str,
    job: str | None,
    taken_back: tuple[str, ...],
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    check_when(given, needed=False)
    retry = take_retry(given)
    changes = given_settings(given)
    if twice := sorted(set(taken_back) & {*changes, *(["retry"] if retry else [])}):
        raise click.UsageError(f"--default {twice[0]} and another value of it say two things.")
    changes |= dict.fromkeys(taken_back)
    if not changes and not retry and job is None:
        raise click.UsageError("Say what to change, such as --cron or --window.")
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=False) as here:
        bell = here.bell
        if retry:
            changes["retry"] = changed_retry(retry, bell.schedules.get(name).options.retry or RETRY)
        schedule = bell.schedules.update(name, job=job, **cast(ScheduleChanges, changes))
        make_known(bell, schedule.job)
        detail = {"changed": sorted({*changes, *(() if job is None else ("job",))}), "when": timing_in_words(schedule)}
        note(bell, "schedules.change", schedule.name, detail=detail)
    if as_json:
        print_json(as_dict(schedule))
        return
    echo(f"{schedule.name}: {schedule.job}, {timing_in_words(schedule)}; next {next_in_words(schedule, here_now())}.")
