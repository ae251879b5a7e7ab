"""`workbell jobs enable`, `disable` and `remove`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client, opened_here
from workbell.cli.jobs.known import code_of, find_job
from workbell.cli.output import confirm, echo, print_json
from workbell.cli.project import client_options, code_options, json_option, open_project, tenant_option


@click.command(help="Let a definition take runs again. Those that wait go on.")
@click.argument("name")
@code_options
@tenant_option
@json_option
def enable(name: str, app: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=False) as here:
        job = here.bell.jobs.enable(name)
        note(here.bell, "jobs.enable", name)
        known = find_job(here, name)
    if as_json:
        print_json(known.as_dict())
    else:
        echo(f"{name} is enabled: it runs the {code_of(job)}.")


@click.command(help="Take no new runs of a definition. Those that wait go on waiting; what is running ends.")
@click.argument("name")
@code_options
@tenant_option
@json_option
def disable(name: str, app: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=False) as here:
        here.bell.jobs.disable(name)
        note(here.bell, "jobs.disable", name)
        known = find_job(here, name)
    if as_json:
        print_json(known.as_dict())
    else:
        echo(f"{name} is disabled; `workbell jobs enable {name}` lets it go on.")


@click.command(help="Remove a definition; its runs stay. Refused while a schedule or a trigger names it.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@client_options
@tenant_option
@json_option
def remove(name: str, yes: bool, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        job = bell.jobs.get(name)
        confirm(f"Remove the job {name}?", yes=yes, as_json=as_json)
        bell.jobs.delete(name)
        note(bell, "jobs.delete", name, detail={"handler": job.handler})
    if as_json:
        print_json({"id": job.id, "name": name, "removed": True})
    else:
        echo(f"{name} is removed.")
