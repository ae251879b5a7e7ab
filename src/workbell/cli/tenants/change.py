"""`workbell tenants set` and `workbell tenants remove`."""

from __future__ import annotations

import click

from workbell.access.tenants import TenantSettings
from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.output import confirm, echo, print_json
from workbell.cli.project import client_options, json_option, open_project
from workbell.model.limit import MOST_RUNNING
from workbell.model.tenant import WEIGHTS, Tenant
from workbell.wire.tenants import TenantShown


@click.command("set", help="Set what is given; the rest stays. A tenant that does not exist is created.")
@click.argument("name")
@click.option("--weight", type=click.IntRange(WEIGHTS[0], WEIGHTS[-1]), help="Its share of the starts. Otherwise: 1.")
@click.option("--concurrency", type=click.IntRange(1, MOST_RUNNING), help="How many of its runs at once.")
@click.option("--no-concurrency", is_flag=True, help="As many at once as there is room for.")
@click.option("--rate", metavar="RATE", help="No more starts than that: 10/s, 100/m.")
@click.option("--no-rate", is_flag=True, help="As many starts as there is room for.")
@click.option("--description", metavar="TEXT", help="A description of the tenant.")
@client_options
@json_option
def set_tenant(
    name: str,
    weight: int | None,
    concurrency: int | None,
    no_concurrency: bool,
    rate: str | None,
    no_rate: bool,
    description: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    if (concurrency is not None and no_concurrency) or (rate is not None and no_rate):
        raise click.UsageError("Give either a limit or --no-…, not both.")
    settings: TenantSettings = {}
    if weight is not None:
        settings["weight"] = weight
    if concurrency is not None or no_concurrency:
        settings["concurrency"] = concurrency
    if rate is not None or no_rate:
        settings["rate"] = rate
    if description is not None:
        settings["description"] = description
    with opened_client(open_project(url=url), create=True) as bell:
        tenant = bell.tenants.put(name, **settings)
        note(bell, "tenants.put", name, tenant=name, detail=settings, aloud=False)
    if as_json:
        print_json(TenantShown.of(tenant))
    else:
        echo(f"Tenant {tenant.name}: {tenant_in_words(tenant)}.")


def tenant_in_words(tenant: Tenant) -> str:
    limits = [
        f"weight {tenant.weight:,}",
        "" if tenant.concurrency is None else f"{tenant.concurrency:,} runs at once",
        "" if tenant.rate is None else f"{tenant.rate} starts",
    ]
    return ", ".join(text for text in limits if text) + ("" if any(limits[1:]) else ", no limits")


@click.command(help="Remove the settings of a tenant; its runs stay.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@client_options
@json_option
def remove(name: str, yes: bool, url: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url), create=False) as bell:
        bell.tenants.get(name)
        confirm(f"Forget the weight and the limits of tenant {name}?", yes=yes, as_json=as_json)
        bell.tenants.delete(name)
        note(bell, "tenants.delete", name, tenant=name, aloud=False)
    if as_json:
        print_json({"name": name, "removed": True})
    else:
        echo(f"Tenant {name} has a weight of 1 and no limits again.")
