"""`workbell triggers enable`, `disable` and `remove`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.output import confirm, echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.triggers.list_and_show import source_in_words


@click.command(help="Let a trigger start runs again. What it matched meanwhile starts nothing.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def enable(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        trigger = bell.triggers.enable(name)
        note(bell, "triggers.enable", trigger.id, detail={"name": trigger.name})
    if as_json:
        print_json(trigger.as_dict())
    else:
        echo(f"{trigger.name} is enabled: {trigger.pattern} starts {trigger.job}.")


@click.command(help="Disable a trigger: it starts no more runs; what it matches is recorded.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def disable(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        trigger = bell.triggers.disable(name)
        note(bell, "triggers.disable", trigger.id, detail={"name": trigger.name})
    if as_json:
        print_json(trigger.as_dict())
    else:
        echo(f"{trigger.name} is disabled; `workbell triggers enable {trigger.name}` lets it go on.")


@click.command(help="Remove a trigger; its runs stay.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@client_options
@tenant_option
@json_option
def remove(name: str, yes: bool, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        trigger = bell.triggers.get(name)
        confirm(f"Remove the trigger {trigger.name}?", yes=yes, as_json=as_json)
        bell.triggers.delete(trigger.id)
        note(bell, "triggers.delete", trigger.id, detail={"name": trigger.name, "processor": trigger.job})
    if as_json:
        print_json({"id": trigger.id, "name": trigger.name, "removed": True})
        return
    echo(f"{trigger.name} is removed.")
    if trigger.source != "api":
        echo(f"It is declared {source_in_words(trigger)}, and comes back with the next start.", err=True)
