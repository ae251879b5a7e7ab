"""`workbell tokens url`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_store
from workbell.cli.project import open_project, store_options
from workbell.model.access import EVERY_TENANT, Scope


@click.command(
    help="Print an address of the service that signs its first reader in, as an operator of everything unless the "
    "options say less. It is good once, for 24 hours."
)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope if scope is not Scope.AGENT]),
    multiple=True,
    help="What the reader may do; may be repeated. Otherwise: admin.",
)
@click.option("--tenant", metavar="NAME", help="For this tenant alone; otherwise for all of them.")
@click.option("--at", metavar="URL", help="Where the service is; http://127.0.0.1:8321 unless the settings say else.")
@store_options
def url(scopes: tuple[str, ...], tenant: str | None, at: str | None, url: str | None) -> None:
    from workbell.http.binding import PORT, address_of
    from workbell.http.pages.login import login_url

    wanted, target = scopes or (Scope.ADMIN.value,), tenant or EVERY_TENANT
    project = open_project(url=url)
    settings = project.settings
    address = at or address_of(settings.http_host, settings.http_port or PORT)
    with opened_store(project, to_look=False) as bell:
        shown = login_url(bell, address.rstrip("/"), scopes=wanted, tenant=target)
        note(bell, "tokens.url", address, tenant=tenant or bell.tenant, detail={"scopes": wanted, "for": target})
    click.echo(shown)
