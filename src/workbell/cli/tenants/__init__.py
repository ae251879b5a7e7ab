"""`workbell tenants`: weights and limits of tenants."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.tenants"
COMMANDS = {
    "list": Lazy(f"{PACKAGE}.list_and_show:list_tenants", "List the tenants, their weights and limits."),
    "show": Lazy(f"{PACKAGE}.list_and_show:show_tenant", "Show all details of a tenant."),
    "set": Lazy(f"{PACKAGE}.change:set_tenant", "Set what is given; the rest stays."),
    "remove": Lazy(f"{PACKAGE}.change:remove", "Remove the settings of a tenant; its runs stay."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="See the tenants, and set their weights and limits.\n\n"
    "Where several have runs waiting, each gets starts in proportion to its weight.",
)
def tenants() -> None: ...
