"""`workbell tenants list` and `workbell tenants show`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from workbell.access.tenants import MOST
from workbell.cli.bell import opened_client, say_empty
from workbell.cli.output import echo, make_console, one_line, print_facts, print_json
from workbell.cli.project import client_options, json_option, limit_option, open_project
from workbell.cli.words import local, or_unreadable
from workbell.model.tenant import Tenant
from workbell.wire.tenants import NEVER, TenantShown


@click.command("list", help="List the tenants, their weights and limits.")
@limit_option(MOST, default=100)
@click.option("--after", metavar="NAME", default="", help="Only later ones: the last tenant of the page before.")
@client_options
@json_option
def list_tenants(limit: int, after: str, url: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url), create=False) as bell:
        found = bell.tenants.list(after=after, limit=limit)
    if as_json:
        print_json([TenantShown.of(tenant) for tenant in found])
    elif found:
        _show_table(found)
        if len(found) == limit:
            echo(f"Later ones: --after {shlex.quote(found[-1].name)}", err=True)
    elif after:
        echo("There are no later tenants.")
    else:
        say_empty(
            bell,
            "There are no tenants yet; one is there with its first run, or by `workbell tenants set NAME`.",
        )


def _show_table(found: Sequence[Tenant]) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    rows = [
        TableRow(
            [
                Text(one_line(tenant.name, 40)),
                Text(f"{tenant.weight:,}"),
                Text("" if tenant.concurrency is None else f"{tenant.concurrency:,}"),
                Text(tenant.rate or ""),
            ],
            Text(or_unreadable(tenant, one_line(tenant.description))),
        )
        for tenant in found
    ]
    names = ("tenant", "weight", "at once", "rate")
    print_rows(make_console(), names, "about", rows, right=("weight", "at once"))


@click.command("show", help="Show all details of a tenant.")
@click.argument("name")
@client_options
@json_option
def show_tenant(name: str, url: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url), create=False) as bell:
        tenant = bell.tenants.get(name)
    if as_json:
        print_json(TenantShown.of(tenant))
        return
    facts = [
        ("tenant", tenant.name),
        ("about", tenant.description),
        ("weight", f"{tenant.weight:,}"),
        ("at once", "no limit" if tenant.concurrency is None else f"{tenant.concurrency:,}"),
        ("rate", tenant.rate or "no limit"),
        ("changed", "nothing was set" if tenant.updated_at == NEVER else local(tenant.updated_at)),
    ]
    print_facts(make_console(), [(word, value) for word, value in facts if value])
