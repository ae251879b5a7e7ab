"""`workbell webhooks replay`: sent again, under the same webhook-id."""

from __future__ import annotations

from datetime import datetime

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.find import find_endpoint, find_event, short
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.values import SINCE


@click.command(help="Send again: one event, or all that were not delivered since a time.")
@click.argument("endpoint_id", metavar="ID")
@click.option("--event", metavar="ID", help="This one, whatever its outcome.")
@click.option("--since", type=SINCE, metavar="TIME", help="All since 2026-11-16T09:00:00Z, or since 2h ago: 2h, 3d.")
@client_options
@tenant_option
@json_option
def replay(
    endpoint_id: str,
    event: str | None,
    since: datetime | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    if (event is None) == (since is None):
        raise click.UsageError("Give either --event or --since.")
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        endpoint = find_endpoint(bell, endpoint_id)
        one = None if event is None else find_event(bell, event).id
        made = bell.webhooks.replay(endpoint.id, event=one, since=since)
        detail = {"to": endpoint.shown_url, "event": one, "since": since, "sent": len(made)}
        note(bell, "webhooks.replay", endpoint.id, detail=detail)
    if as_json:
        print_json([delivery.as_dict() for delivery in made])
    elif not made:
        echo("Nothing is to be sent again: all since then was delivered, or is on its way.")
    else:
        what = "1 event is sent" if len(made) == 1 else f"{len(made):,} events are sent"
        echo(f"{what} again; `workbell webhooks deliveries {short(endpoint.id)}` shows how it goes.")
