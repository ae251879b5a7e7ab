"""`workbell triggers add`."""

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
from workbell.events.triggers import TriggerSettings
from workbell.model.trigger import DEFAULT_RETRY


@click.command(help="Start a job on every event that a pattern matches.")
@click.argument("name")
@click.option("--pattern", metavar="PATTERN", required=True, help="Which events, such as posts.* .")
@job_option(required=True)
@click.option("--description", metavar="TEXT", default="", help="What it is for.")
@click.option("--disabled", is_flag=True, help="Let it start nothing until it is enabled.")
@retry_options
@run_options
@code_options
@tenant_option
@json_option
def add(
    name: str,
    pattern: str,
    processor: str,
    description: str,
    disabled: bool,
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    retry = take_retry(given)
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=True) as here:
        bell = here.bell
        made = bell.triggers.add(
            name,
            pattern=pattern,
            processor=processor,
            description=description,
            enabled=not disabled,
            retry=changed_retry(retry, DEFAULT_RETRY) if retry else None,
            **cast(TriggerSettings, {word: value for word, value in given.items() if value is not None}),
        )
        make_known(bell, processor)
        note(bell, "triggers.add", made.id, detail={"name": name, "pattern": pattern, "processor": processor})
    if as_json:
        print_json(made.as_dict())
        return
    echo(f"{made.name}: {made.pattern} starts {made.job}{'' if made.enabled else ', once it is enabled'}.")
