"""`workbell schedules add`: creates a schedule for a job."""

from __future__ import annotations

from typing import Any, cast

import click

from workbell.cli.acting import note
from workbell.cli.bell import AnyClient, opened_here
from workbell.cli.jobs.known import make_known
from workbell.cli.output import echo, print_json
from workbell.cli.project import code_options, json_option, open_project, tenant_option
from workbell.cli.retrying import changed_retry, take_retry
from workbell.cli.schedules.list_and_show import as_dict, source_in_words
from workbell.cli.schedules.settings import RETRY, check_when, given_settings, schedule_options
from workbell.cli.words import here_now, next_in_words, timing_in_words
from workbell.errors import InvalidOption, ScheduleNotFound
from workbell.model.schedule import Schedule
from workbell.scheduling.settings import ScheduleSettings


@click.command(help="Add a schedule for a job.")
@click.argument("name")
@click.option("--job", metavar="NAME", required=True, help="What to run.")
@schedule_options
@click.option("--replace", is_flag=True, help="Change it, if there is one of this name.")
@code_options
@tenant_option
@json_option
def add(
    name: str,
    job: str,
    replace: bool,
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    settings = _settings(given)
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=True) as here:
        bell = here.bell
        known = _find(bell, name)
        if known is not None and not known.source.startswith("api"):
            raise InvalidOption(
                f"The schedule {name!r} is declared {source_in_words(known)}; change it there, or choose another name."
            )
        if known is not None and not replace:
            raise InvalidOption(f"There is a schedule {name!r} already; --replace changes it.")
        schedule = bell.schedules.put(name, job=job, **settings)
        make_known(bell, job)
        note(bell, "schedules.put", name, detail={"job": job, "when": timing_in_words(schedule)})
    if as_json:
        print_json(as_dict(schedule))
        return
    echo(f"{schedule.name}: {schedule.job}, {timing_in_words(schedule)}; next {next_in_words(schedule, here_now())}.")


def _find(bell: AnyClient, name: str) -> Schedule | None:
    try:
        return bell.schedules.get(name)
    except ScheduleNotFound:
        return None


def _settings(given: dict[str, Any]) -> ScheduleSettings:
    """The options that were given, in the words of `bell.schedules.put`."""
    check_when(given, needed=True)
    if given["anchor"] is not None and given["every"] is None:
        raise click.UsageError("--anchor goes with --every.")
    retry = take_retry(given)
    changes = given_settings(given)
    return cast(ScheduleSettings, changes | ({"retry": changed_retry(retry, RETRY)} if retry else {}))
