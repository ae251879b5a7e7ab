"""`workbell tokens create`."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from workbell.cli.acting import created_by, note
from workbell.cli.bell import now_of, opened_client
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.tokens.every import every_tenant_option, whose
from workbell.cli.values import USER, WHEN
from workbell.cli.words import local
from workbell.model.access import EVERY_TENANT, Scope, Token
from workbell.model.users import UserId
from workbell.wire.tokens import MadeToken


@click.command(help="Create a token; its text is shown this once.")
@click.argument("name", default="")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope]),
    multiple=True,
    help="What it allows; may be repeated. Otherwise: read; with --user-id: this person's notifications alone.",
)
@click.option("--expires", type=WHEN, metavar="WHEN", help="In 30d, in 12h; or at 2026-12-31T00:00:00Z.")
@click.option(
    "--user-id",
    type=USER,
    metavar="USER",
    help="Which person it is: whose notifications it reads, and whose runs it makes.",
)
@every_tenant_option("For all tenants, also those to come.")
@click.option("-q", "--quiet", is_flag=True, help="Print the token, and nothing else.")
@client_options
@tenant_option
@json_option
def create(
    name: str,
    scopes: tuple[str, ...],
    expires: datetime | timedelta | None,
    user_id: UserId | None,
    every_tenant: bool,
    quiet: bool,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    own, for_all = whose(tenant, every_tenant)
    wanted = scopes or (() if user_id is not None else (Scope.READ,))
    with opened_client(open_project(url=url, tenant=own), create=True) as bell:
        target = EVERY_TENANT if for_all else None
        token, text = bell.tokens.create(
            name, scopes=wanted, tenant=target, user_id=user_id, expires=expires, **created_by(bell)
        )
        detail = {"name": token.name, "scopes": token.scopes, "user_id": user_id, "expires_at": token.expires_at}
        note(bell, "tokens.create", token.id, tenant=target, detail=detail, aloud=False)
        described_at = now_of(bell)
    if as_json:
        print_json(MadeToken.of(token, described_at, token=text))
        return
    if not quiet:
        echo(f"Token {token.id}: {token_in_words(token)}.", err=True)
        echo("Its text, which is shown this once and never again:", err=True)
    echo(text)  # alone on stdout, so that it can be piped to where it is stored


def token_in_words(token: Token) -> str:
    """`read, enqueue for tenant default, until 2026-12-31 00:00:00`."""
    scopes = ", ".join(token.scopes) or f"the notifications of user {token.user_id}"
    who = "every tenant" if token.tenant == EVERY_TENANT else f"tenant {token.tenant}"
    until = "until it is revoked" if token.expires_at is None else f"until {local(token.expires_at)}"
    return f"{scopes} for {who}, {until}"
