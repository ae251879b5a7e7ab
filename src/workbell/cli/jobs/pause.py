"""`workbell jobs pause` and `workbell jobs resume`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client, opened_here
from workbell.cli.jobs.known import find_job
from workbell.cli.output import echo, print_json
from workbell.cli.pausing import paused, resumed
from workbell.cli.project import client_options, code_options, json_option, open_project, tenant_option


@click.command(help="Start no more runs of a job until it is resumed. What is running goes on.")
@click.argument("name")
@code_options
@tenant_option
@json_option
def pause(name: str, app: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    project = open_project(app=app, url=url, tenant=tenant)
    with opened_here(project, url, create=True) as here:
        find_job(here, name)  # a name that is misspelt would pause nothing
        made = here.bell.pause(job=name)
        note(here.bell, "jobs.pause", name)
    if as_json:
        print_json(made)
    else:
        echo(paused(made))


@click.command(help="Let the runs of a paused job start again.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def resume(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        ended = bell.resume(job=name)
        left = bell.pauses()
        note(bell, "jobs.resume", name, detail={"resumed": ended})
    if as_json:
        print_json({"queue": None, "job": name, "resumed": ended})
    else:
        echo(resumed(f"job {name}", ended, left))
