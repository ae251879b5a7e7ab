"""`workbell webhooks update`."""

from __future__ import annotations

from typing import Any

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.find import find_endpoint
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.retrying import changed_retry, take_retry
from workbell.cli.webhooks.list_and_show import described
from workbell.cli.webhooks.settings import endpoint_options, settings_of
from workbell.model.endpoint import DELIVERY_RETRY


@click.command(help="Change what is given; the rest stays.")
@click.argument("endpoint_id", metavar="ID")
@click.option("--to", "target", metavar="URL", help="The new URL to send to.")
@endpoint_options
@click.option("--no-headers", is_flag=True, help="Remove all custom headers.")
@client_options
@tenant_option
@json_option
def update(
    endpoint_id: str,
    target: str | None,
    no_headers: bool,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    retry = take_retry(given)
    settings = settings_of(given)
    if no_headers:
        settings["headers"] = None
    if not settings and not retry and target is None:
        raise click.UsageError("Say what to change, such as --pattern or --to.")
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        old = find_endpoint(bell, endpoint_id)
        if retry:
            settings["retry"] = changed_retry(retry, old.retry or DELIVERY_RETRY)
        endpoint = bell.webhooks.update(old.id, url=target, **settings)
        changed = sorted([*settings, *([] if target is None else ["url"])])  # without values: headers can be secrets
        note(bell, "webhooks.change", endpoint.id, detail={"to": endpoint.shown_url, "changed": changed})
        shown = described(bell, endpoint.id)
    if as_json:
        print_json(shown)
    else:
        echo(f"Endpoint {endpoint.id}: {' '.join(endpoint.patterns)} to {endpoint.shown_url}.")
