"""`workbell webhooks new-key`: generates a value for the setting `secret_key`."""

from __future__ import annotations

import click

from workbell.cli.output import echo
from workbell.trust.sealing import VARIABLE, new_key


@click.command("new-key", help="Generate a key that encrypts the secrets of endpoints in the store.")
def print_new_key() -> None:
    # Alone on stdout, so that it can be piped to where it is stored.
    echo(f"Set it as {VARIABLE}, for every process on this store, and keep it apart from the database:", err=True)
    echo(new_key())
