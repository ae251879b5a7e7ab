"""`workbell webhooks add`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.retrying import changed_retry, take_retry
from workbell.cli.webhooks.list_and_show import described
from workbell.cli.webhooks.settings import endpoint_options, print_secret, read_secret, secret_option, settings_of
from workbell.model.endpoint import DELIVERY_RETRY


@click.command(help="Add an endpoint: send events to a URL. The secret is shown this once.")
@click.argument("target", metavar="URL")
@endpoint_options
@secret_option
@client_options
@tenant_option
@json_option
def add(target: str, secret: str | None, url: str | None, tenant: str | None, as_json: bool, **given: Any) -> None:
    retry = take_retry(given)
    settings = settings_of(given)
    if retry:
        settings["retry"] = changed_retry(retry, DELIVERY_RETRY)
    if "patterns" not in settings:
        raise click.UsageError("Say which events are sent there: --pattern 'posts.*'.")
    with opened_client(open_project(url=url, tenant=tenant), create=True) as bell:
        endpoint, text = bell.webhooks.add(target, secret=read_secret(secret), **settings)
        note(bell, "webhooks.add", endpoint.id, detail={"to": endpoint.shown_url, "patterns": endpoint.patterns})
        shown = described(bell, endpoint.id)
    if as_json:
        print_json(msgspec.structs.asdict(shown) | {"secret": text})
        return
    echo(f"Endpoint {endpoint.id}: {' '.join(endpoint.patterns)} to {endpoint.shown_url}.", err=True)
    print_secret(text)
