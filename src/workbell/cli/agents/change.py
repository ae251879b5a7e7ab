"""`workbell agents label`, `enable`, `disable` and `remove`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from workbell.cli.acting import note
from workbell.cli.bell import now_of, opened_client
from workbell.cli.output import confirm, echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.model.agent import Agent
from workbell.wire.agents import AgentShown


@click.command(help="Give an agent these labels instead of those it has. From its next poll on it gets their runs.")
@click.argument("name")
@click.argument("labels", nargs=-1)
@click.option("--none", "none_at_all", is_flag=True, help="Leave it without labels.")
@client_options
@tenant_option
@json_option
def label(
    name: str, labels: tuple[str, ...], none_at_all: bool, url: str | None, tenant: str | None, as_json: bool
) -> None:
    if bool(labels) == none_at_all:
        raise click.UsageError("Give one or more labels, or --none; one of the two.")
    agent = _change(name, url, tenant, as_json, labels=labels)
    if not as_json:
        text = ", ".join(f"label:{word}" for word in agent.labels)
        echo(f"{agent.name} takes runs that target {text or 'its name alone'}.")


@click.command(help="Give an agent runs again.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def enable(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    agent = _change(name, url, tenant, as_json, enabled=True)
    if not as_json:
        echo(f"{agent.name} is enabled.")


@click.command(help="Give an agent no more runs; it may finish those that it has.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def disable(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    agent = _change(name, url, tenant, as_json, enabled=False)
    if not as_json:
        echo(f"{agent.name} is disabled; `workbell agents enable {agent.name}` lets it go on.")


def _change(
    name: str,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    *,
    labels: Sequence[str] | None = None,
    enabled: bool | None = None,
) -> Agent:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        agent = bell.agents.change(name, labels=labels, enabled=enabled)
        detail = {"labels": agent.labels} if enabled is None else {"enabled": enabled}
        note(bell, "agents.change", agent.name, detail=detail)
        now = now_of(bell)
    if as_json:
        print_json(AgentShown.of(agent, now))
    return agent


@click.command(help="Forget an agent; its token is revoked. Runs that target it wait for another agent of its name.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@client_options
@tenant_option
@json_option
def remove(name: str, yes: bool, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        agent = bell.agents.get(name)
        confirm(f"Forget the agent {agent.name}, and end its token?", yes=yes, as_json=as_json)
        bell.agents.delete(agent.id)
        note(bell, "agents.delete", agent.name)
    if as_json:
        print_json({"id": agent.id, "name": agent.name, "removed": True})
    else:
        echo(f"{agent.name} is removed, and its token is revoked.")
