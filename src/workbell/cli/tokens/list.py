"""`workbell tokens list`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from workbell.access.tokens import MOST
from workbell.cli.bell import now_of, opened_client, say_empty
from workbell.cli.find import short, tokens_of, usable_here
from workbell.cli.output import echo, make_console, one_line, print_json
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.words import ago, due_in, or_unreadable
from workbell.model.access import EVERY_TENANT, REDEEMED, Token
from workbell.model.pairing import shown_name
from workbell.wire.tokens import TokenShown


@click.command("list", help="List the tokens that are valid, and when they were last used.")
@click.option("--all", "also_ended", is_flag=True, help="Also those that are revoked or have expired.")
@limit_option(MOST, default=100)
@click.option("--after", metavar="ID", help="Only later ones: the id of the last token of the page before.")
@client_options
@tenant_option
@json_option
def list_tokens(
    also_ended: bool, limit: int, after: str | None, url: str | None, tenant: str | None, as_json: bool
) -> None:
    own = None if tenant == EVERY_TENANT else tenant
    with opened_client(open_project(url=url, tenant=own), create=False) as bell:
        now, ended = now_of(bell), False
        found: list[Token] = []
        for token in tokens_of(bell, EVERY_TENANT, after) if tenant == EVERY_TENANT else usable_here(bell, after):
            if also_ended or token.is_valid(now) or token.unreadable is not None:
                found.append(token)
            else:
                ended = True
            if len(found) > limit:
                break
    if as_json:
        print_json([TokenShown.of(token, now) for token in found[:limit]])
    elif found:
        _show(found[:limit], now)
    elif after:
        echo("There are no later tokens.")
    else:
        more = "; --all shows those that are not valid any more" if ended else ""
        say_empty(bell, f"There are no tokens; `workbell tokens create NAME` makes one{more}.")
    if len(found) > limit:
        echo(f"Later ones: --after {found[limit - 1].id}", err=True)


def _show(found: Sequence[Token], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = []
    for token in found:
        word, style = state_of(token, now)
        cells = [
            Text(short(token.id) if console.is_terminal else token.id, "dim"),
            Text(allows(token)),
            Text(one_line(token.tenant, 30)),
            Text(word, style),
            Text(ago(token.last_used_at, now) or "never", "dim"),
        ]
        rows.append(TableRow(cells, Text(or_unreadable(token, one_line(shown_name(token))))))
    print_rows(console, ("token", "scopes", "tenant", "valid", "used"), "name", rows)


def allows(token: Token) -> str:
    """Its scopes; without any it is for one person's notifications, or to be redeemed."""
    return ", ".join(token.scopes) or (token.kind.value if token.user_id is None else f"user {token.user_id}")


def state_of(token: Token, now: datetime) -> tuple[str, str]:
    """Until when it is valid, in a few words, and the style to show them in."""
    if token.unreadable is not None:
        return "never", "red"
    if token.revoked_at is not None:
        word = "used or revoked" if token.kind in REDEEMED else "revoked"
        return f"{word} {ago(token.revoked_at, now)}", "red"
    if token.expires_at is None:
        return "until revoked", "green"
    if token.expires_at <= now:
        return f"expired {ago(token.expires_at, now)}", "yellow"
    return f"ends {due_in(token.expires_at, now)}", "green"
