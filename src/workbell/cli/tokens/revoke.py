"""`workbell tokens revoke`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import now_of, opened_client
from workbell.cli.find import find_token
from workbell.cli.output import echo, one_line, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.tokens.every import whose
from workbell.model.pairing import shown_name
from workbell.wire.tokens import TokenShown


@click.command(help="Revoke a token: servers refuse it within a second.")
@click.argument("token_id", metavar="ID")
@client_options
@tenant_option
@json_option
def revoke(token_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    own, _ = whose(tenant, False)
    with opened_client(open_project(url=url, tenant=own), create=False) as bell:
        found = find_token(bell, token_id)
        token = bell.tokens.revoke(found.id, tenant=found.tenant)
        note(bell, "tokens.revoke", token.id, tenant=token.tenant, detail={"name": shown_name(token)})
        described = TokenShown.of(token, now_of(bell))
    if as_json:
        print_json(described)
        return
    name = f" ({one_line(shown_name(token))})" if token.name else ""
    echo(f"Token {token.id}{name} {'is' if found.revoked_at is None else 'was already'} revoked.")
