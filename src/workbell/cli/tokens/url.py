"""`workbell tokens url`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_store
from workbell.cli.project import open_project, url_option


@click.command(help="Print an address of the service that signs its first reader in, as an operator.")
@click.option("--at", metavar="URL", help="Where the service is; http://127.0.0.1:8321 unless the settings say else.")
@url_option
def url(at: str | None, url: str | None) -> None:
    from workbell.http.binding import PORT, address_of
    from workbell.http.pages.login import login_url

    project = open_project(url=url)
    settings = project.settings
    address = at or address_of(settings.http_host, settings.http_port or PORT)
    with opened_store(project, to_look=False) as bell:
        shown = login_url(bell, address.rstrip("/"))
        note(bell, "tokens.url", address, tenant=bell.tenant)
    click.echo(shown)
