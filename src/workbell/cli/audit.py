"""`workbell audit`: audit log entries: actor, action, object and time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click
import msgspec

from workbell.access.audit import PAGE
from workbell.cli.bell import now_of, opened_client, say_empty
from workbell.cli.find import short
from workbell.cli.output import echo, make_console, one_line, print_json
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.tokens.every import every_tenant_option, whose
from workbell.cli.words import local
from workbell.model.access import EVERY_TENANT
from workbell.model.audit import AuditEntry
from workbell.wire.audit import AuditShown


@click.command(help="List what operators did, newest first.")
@limit_option(PAGE)
@click.option("--before", metavar="ID", help="Only older ones: the id of the last entry of the page before.")
@every_tenant_option("Those of all tenants.")
@client_options
@tenant_option
@json_option
def audit(
    limit: int, before: str | None, every_tenant: bool, url: str | None, tenant: str | None, as_json: bool
) -> None:
    own, of_all = whose(tenant, every_tenant)
    with opened_client(open_project(url=url, tenant=own), create=False) as bell:
        found = bell.audit.list(before=before, limit=limit, tenant=EVERY_TENANT if of_all else None)
        now = now_of(bell)
    if as_json:
        print_json([AuditShown.of(entry) for entry in found])
    elif not found and before:
        echo("There are no older audit entries.")
    elif not found:
        say_empty(bell, "There are no audit entries yet.")
    else:
        _show(found, now, of_all)
        if len(found) == limit:
            echo(f"Older ones: --before {found[-1].id}", err=True)


def _show(found: Sequence[AuditEntry], now: datetime, of_all: bool) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = []
    for entry in found:
        subject = short(entry.subject) if console.is_terminal and len(entry.subject) == len(entry.id) else entry.subject
        cells = [
            Text(local(entry.at, now), "dim"),
            *([Text(one_line(entry.tenant, 30))] if of_all else []),
            Text(one_line(entry.actor, 40)),
            Text(one_line(entry.action, 40), "bold"),
            Text(one_line(subject, 40)),
        ]
        rows.append(TableRow(cells, Text(_rest(entry), "dim")))
    tenant = ["tenant"] if of_all else []
    print_rows(console, ("at", *tenant, "who", "what", "to what"), "more", rows)


def _rest(entry: AuditEntry) -> str:
    """Address, detail and the ids of the actor, in one line."""
    detail = msgspec.json.decode(entry.detail_text) if entry.detail_text else {}
    facts = dict(detail) if isinstance(detail, dict) else {"detail": detail}
    by = facts.pop("by", None)
    facts |= {name: value for name, value in by.items() if name != "kind"} if isinstance(by, dict) else {"by": by}
    words = [f"{name}={value}" for name, value in facts.items() if value not in (None, "", [])]
    return one_line(" ".join([*([entry.address] if entry.address else []), *words]))
