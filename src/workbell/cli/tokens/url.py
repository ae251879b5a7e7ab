"""`workbell tokens url`."""

from __future__ import annotations

import click

from workbell.app import Workbell
from workbell.cli.acting import note
from workbell.cli.bell import opened_store
from workbell.cli.output import echo
from workbell.cli.project import missing_file, open_project, store_options, store_url
from workbell.cli.serving import public_address
from workbell.cli.values import TENANT
from workbell.errors import ServiceUnavailable
from workbell.model.access import ALONE, EVERY_TENANT, Scope
from workbell.settings import safe_url


@click.command(
    help="Print an address of the service that signs its first reader in, as an operator of everything unless the "
    "options say less. It is good once, for 24 hours."
)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope if scope not in ALONE]),
    multiple=True,
    help="What the reader may do; may be repeated. Otherwise: admin.",
)
@click.option("--tenant", type=TENANT, metavar="NAME", help="For this tenant alone; otherwise for all of them.")
@click.option(
    "--at",
    metavar="URL",
    help="Where the service is; otherwise as http_public_url says, or where one of this store runs.",
)
@store_options
def url(scopes: tuple[str, ...], tenant: str | None, at: str | None, url: str | None) -> None:
    from workbell.http.pages.login import login_url

    wanted, target = scopes or (Scope.ADMIN.value,), tenant or EVERY_TENANT
    project = open_project(url=url)
    _check_there(store_url(project))
    with opened_store(project, create=True) as bell:
        address = (at or public_address(bell.settings) or _running(bell)).rstrip("/")
        shown = login_url(bell, address, scopes=wanted, tenant=target)
        detail = {"scopes": wanted, "for": target}
        note(bell, "tokens.url", address, tenant=tenant or bell.tenant, detail=detail, aloud=tenant is not None)
    echo(shown)


def _check_there(store: str) -> None:
    """Raise where there is no store: a token of a new one would open no door."""
    if missing_file(store) is not None:
        raise ServiceUnavailable(
            f"No service runs for {safe_url(store)}, a file that is not there yet; start one with `workbell dev` or "
            "`workbell start`, go to the folder of the project, or name its store with --url or --app."
        )


def _running(bell: Workbell) -> str:
    from workbell.http.binding import running_at

    found = running_at(bell.store)
    if found is None:
        raise ServiceUnavailable(
            f"No service runs for {safe_url(bell.settings.url)} that can be reached from here; start one with "
            "`workbell dev` or `workbell start`, or say with --at where it is."
        )
    return found
