"""`workbell schedules pause`, `resume` and `remove`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.output import confirm, echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.schedules.list_and_show import as_dict, source_in_words
from workbell.cli.words import here_now, next_in_words
from workbell.model.schedule import Schedule
from workbell.remote.verbs import RemoteSchedules
from workbell.scheduling.schedules import Schedules


@click.command(help="Pause a schedule: its ticks make no runs until it is resumed.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def pause(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    schedule = _steer(url, tenant, "schedules.pause", lambda schedules: schedules.pause(name))
    if as_json:
        print_json(as_dict(schedule))
    else:
        echo(f"{name} is paused; `workbell schedules resume {name}` lets it go on.")


@click.command(help="Resume a paused schedule from its next tick.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def resume(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    schedule = _steer(url, tenant, "schedules.resume", lambda schedules: schedules.resume(name))
    if as_json:
        print_json(as_dict(schedule))
    else:
        echo(f"{name} goes on; next {next_in_words(schedule, here_now())}.")


AnySchedules: TypeAlias = Schedules | RemoteSchedules


def _steer(url: str | None, tenant: str | None, action: str, verb: Callable[[AnySchedules], Schedule]) -> Schedule:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        schedule = verb(bell.schedules)
        note(bell, action, schedule.name)
        return schedule


@click.command(help="Remove a schedule; its runs stay.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@client_options
@tenant_option
@json_option
def remove(name: str, yes: bool, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        schedule = bell.schedules.get(name)
        confirm(f"Remove the schedule {name}?", yes=yes, as_json=as_json)
        bell.schedules.delete(name)
        note(bell, "schedules.delete", name, detail={"job": schedule.job})
    if as_json:
        print_json({"name": name, "removed": True})
        return
    echo(f"{name} is removed.")
    if schedule.source.startswith(("file:", "code:")):
        echo(f"It is declared {source_in_words(schedule)}, and comes back with the next start.", err=True)
