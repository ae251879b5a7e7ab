"""`workbell webhooks enable`, `disable` and `remove`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.find import find_endpoint, short
from workbell.cli.output import confirm, echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.webhooks.list_and_show import described
from workbell.model.endpoint import BY_HAND


@click.command(help="Send to an endpoint again.")
@click.argument("endpoint_id", metavar="ID")
@client_options
@tenant_option
@json_option
def enable(endpoint_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        endpoint = bell.webhooks.enable(find_endpoint(bell, endpoint_id).id)
        note(bell, "webhooks.enable", endpoint.id, detail={"to": endpoint.shown_url})
        shown = described(bell, endpoint.id)
    if as_json:
        print_json(shown)
        return
    echo(f"Endpoint {endpoint.id} is enabled.")
    echo(f"What was missed is sent by `workbell webhooks replay {short(endpoint.id)} --since TIME`.", err=True)


@click.command(help="Send nothing more to an endpoint; matching events are recorded.")
@click.argument("endpoint_id", metavar="ID")
@click.option("--reason", default=BY_HAND, metavar="TEXT", show_default=True, help="The reason that is recorded.")
@client_options
@tenant_option
@json_option
def disable(endpoint_id: str, reason: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(for_people=not as_json, url=url, tenant=tenant), create=False) as bell:
        endpoint = bell.webhooks.disable(find_endpoint(bell, endpoint_id).id, reason)
        note(bell, "webhooks.disable", endpoint.id, detail={"to": endpoint.shown_url, "reason": reason})
        shown = described(bell, endpoint.id)
    if as_json:
        print_json(shown)
    else:
        echo(f"Endpoint {endpoint.id} is disabled; `workbell webhooks enable {short(endpoint.id)}` lets it go on.")


@click.command(help="Remove an endpoint; its deliveries stay.")
@click.argument("endpoint_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@client_options
@tenant_option
@json_option
def remove(endpoint_id: str, yes: bool, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        endpoint = find_endpoint(bell, endpoint_id)
        confirm(f"Remove the endpoint {endpoint.id} ({endpoint.shown_url})?", yes=yes, as_json=as_json)
        bell.webhooks.delete(endpoint.id)
        note(bell, "webhooks.delete", endpoint.id, detail={"to": endpoint.shown_url})
    if as_json:
        print_json({"id": endpoint.id, "removed": True})
    else:
        echo(f"Endpoint {endpoint.id} is removed.")
