"""`workbell webhooks seal`: encrypts all secrets of endpoints with the newest key."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_store
from workbell.cli.output import echo, print_json
from workbell.cli.project import json_option, open_project, store_options, tenant_option


@click.command(help="Seal secrets, headers and URLs, also those of alerts, with the first key of WORKBELL_SECRET_KEY.")
@store_options
@tenant_option
@json_option
def seal(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_store(open_project(for_people=not as_json, url=url, tenant=tenant), create=False) as bell:
        count = bell.webhooks.seal()
        note(bell, "webhooks.seal", detail={"sealed": count})
    if as_json:
        print_json({"sealed": count})
        return
    echo(f"{count:,} endpoints are sealed." if count != 1 else "1 endpoint is sealed.")
