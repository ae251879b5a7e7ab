"""`workbell tokens`: access tokens of the HTTP API, with their scopes."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.tokens"
COMMANDS = {
    "create": Lazy(f"{PACKAGE}.create:create", "Create a token; its text is shown this once."),
    "list": Lazy(f"{PACKAGE}.list:list_tokens", "List the tokens that are valid, and when they were last used."),
    "url": Lazy(f"{PACKAGE}.url:url", "Print an address that signs a browser in, once."),
    "revoke": Lazy(f"{PACKAGE}.revoke:revoke", "Revoke a token."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="Create, list and revoke access tokens of the HTTP API.\n\n"
    "ID is the id of a token, or at least six letters of its beginning or its end; never its text.",
)
def tokens() -> None: ...
