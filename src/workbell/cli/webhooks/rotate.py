"""`workbell webhooks rotate`."""

from __future__ import annotations

from datetime import timedelta

import click
import msgspec

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.find import find_endpoint
from workbell.cli.output import echo, print_json, span
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.values import SPAN
from workbell.cli.webhooks.list_and_show import described
from workbell.cli.webhooks.settings import print_secret, read_secret, secret_option
from workbell.webhooks.endpoints import OVERLAP


@click.command(help="Give an endpoint another secret; the old one is valid for a while.")
@click.argument("endpoint_id", metavar="ID")
@click.option("--overlap", type=SPAN, metavar="SPAN", help="How long both are valid. Otherwise: 1d.")
@secret_option
@client_options
@tenant_option
@json_option
def rotate(
    endpoint_id: str, overlap: timedelta | None, secret: str | None, url: str | None, tenant: str | None, as_json: bool
) -> None:
    both = OVERLAP if overlap is None else overlap
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = find_endpoint(bell, endpoint_id)
        endpoint, text = bell.webhooks.rotate(found.id, secret=read_secret(secret), overlap=both)
        note(bell, "webhooks.rotate", endpoint.id, detail={"to": endpoint.shown_url, "overlap": both.total_seconds()})
        shown = described(bell, endpoint.id)
    if as_json:
        print_json(msgspec.structs.asdict(shown) | {"secret": text})
        return
    until = f"the old secret signs as well for {span(both)}" if both else "the old secret signs no more"
    echo(f"Endpoint {endpoint.id}: {until}.", err=True)
    print_secret(text)
