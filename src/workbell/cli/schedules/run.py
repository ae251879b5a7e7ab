"""`workbell schedules run`: a run of a schedule's job now, as a tick would make it."""

from __future__ import annotations

from datetime import timedelta

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_here
from workbell.cli.jobs.known import make_known
from workbell.cli.jobs.run import finish, wait_options
from workbell.cli.project import code_options, json_option, open_project, tenant_option


@click.command("run", help="Run a schedule's job now, with its input and settings; its ticks go on as before.")
@click.argument("name")
@wait_options
@code_options
@tenant_option
@json_option
@click.pass_context
def run_schedule(
    context: click.Context,
    name: str,
    wait: bool,
    timeout: timedelta | None,
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=True) as here:
        run = here.bell.schedules.run(name)
        make_known(here.bell, run.job)
        note(here.bell, "schedules.run", name, detail={"run": run.id})
        finish(context, here, run, wait=wait, timeout=timeout, as_json=as_json)
