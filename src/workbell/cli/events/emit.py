"""`workbell events emit`: emit an event by hand."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import click
import msgspec

from workbell.cli.acting import say_tenant
from workbell.cli.bell import now_of, opened_client
from workbell.cli.events.match import counted
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option

SOURCE = "/cli"  # where there is no project that could be named
STDIN = "-"
CLOCK_SKEW = timedelta(minutes=1)  # that the clock of a service may be behind this machine's


@click.command(help="Emit an event: every matching trigger starts a run. DATA is JSON, or - to read it from stdin.")
@click.argument("event_type", metavar="TYPE")
@click.argument("data", required=False)
@click.option("--subject", metavar="TEXT", help="What it is about, such as an id.")
@click.option("--source", metavar="TEXT", help="Who emits it; otherwise the project, such as /shop.")
@click.option("--key", metavar="TEXT", help="Deduplicate: one event for each source and key.")
@client_options
@tenant_option
@json_option
def emit(
    event_type: str,
    data: str | None,
    subject: str | None,
    source: str | None,
    key: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    value = None if data is None else _read(data)
    project = open_project(url=url, tenant=tenant)
    if source is None and (project.settings.project is None or project.service is not None):
        source = SOURCE
    with opened_client(project, create=True) as bell:
        begun = now_of(bell) - (CLOCK_SKEW if project.service is not None else timedelta())
        event = bell.emit(event_type, value, subject=subject, source=source, key=key)
        say_tenant(bell)
        subscribers = bell.events.match(event.type)
    if as_json:
        print_json(event.as_dict())
    elif event.created_at < begun:
        echo(f"{event.type} was emitted before, with the key {key}: it is {event.id}.")
    else:
        echo(f"{event.type} is stored as {event.id}; {counted(subscribers)}.")


def _read(text: str) -> Any:
    try:
        return msgspec.json.decode(sys.stdin.read() if text == STDIN else text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise click.BadParameter(f"{error}; write JSON such as '{{\"id\": 7}}'.", param_hint="DATA") from None
