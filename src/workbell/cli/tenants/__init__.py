"""`workbell tenants`: how the work is shared between them."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.tenants"
COMMANDS = {
    "list": Lazy(f"{PACKAGE}.list_and_show:list_tenants", "List the tenants, their weights and limits."),
    "show": Lazy(f"{PACKAGE}.list_and_show:show_tenant", "Show all there is to know about a tenant."),
    "set": Lazy(f"{PACKAGE}.change:set_tenant", "Set what is given; the rest stays."),
    "remove": Lazy(f"{PACKAGE}.change:remove", "Forget what was set for a tenant; its runs stay."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="See the tenants, and set their weights and limits.\n\n"
    "Where several have runs waiting, each gets starts in proportion to its weight.",
)
def tenants() -> None: ...
