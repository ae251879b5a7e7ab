"""`workbell triggers update`."""

from __future__ import annotations

from typing import Any, cast

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_here
from workbell.cli.jobs.known import make_known
from workbell.cli.output import echo, print_json
from workbell.cli.project import code_options, json_option, open_project, tenant_option
from workbell.cli.retrying import changed_retry, retry_options, take_retry
from workbell.cli.run_options import run_options
from workbell.cli.triggers.settings import job_option
from workbell.events.triggers import TriggerChanges
from workbell.model.trigger import DEFAULT_RETRY, OPTION_FIELDS


@click.command(help="Change what is given; the rest stays.")
@click.argument("name")
@click.option("--name", "new_name", metavar="TEXT", help="The new name.")
@click.option("--pattern", metavar="PATTERN", help="Which events, such as posts.* .")
@job_option(required=False)
@click.option("--description", metavar="TEXT", help="What it is for.")
@retry_options
@run_options
@click.option(
    "--job-default",
    "taken_back",
    type=click.Choice(OPTION_FIELDS),
    multiple=True,
    help="Reset this setting to the job's own.",
)
@click.option("--default-retry", is_flag=True, help="Retry as the job does by itself.")
@code_options
@tenant_option
@json_option
def update(
    name: str,
    new_name: str | None,
    default_retry: bool,
    taken_back: tuple[str, ...],
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    retry = take_retry(given)
    changes = {word: value for word, value in (given | {"name": new_name}).items() if value is not None}
    if retry and default_retry:
        raise click.UsageError("--default-retry goes with none of the other options about retries.")
    if twice := sorted(set(taken_back) & set(changes)):
        raise click.UsageError(f"--job-default {twice[0]} and --{twice[0].replace('_', '-')} say two things.")
    changes |= dict.fromkeys(taken_back)
    if not (changes or retry or default_retry):
        raise click.UsageError("Say what to change, such as --pattern or --job.")
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=False) as here:
        bell = here.bell
        old = bell.triggers.get(name)
        if retry:
            changes["retry"] = changed_retry(retry, old.retry or DEFAULT_RETRY)
        if default_retry:
            changes["retry"] = None
        changed = bell.triggers.update(old.id, **cast(TriggerChanges, changes))
        make_known(bell, changed.job)
        note(bell, "triggers.change", changed.id, detail={"name": old.name, "changed": sorted(changes)})
    if as_json:
        print_json(changed.as_dict())
    else:
        echo(f"{changed.name}: {changed.pattern} starts {changed.job}{'' if changed.enabled else ' (disabled)'}.")
