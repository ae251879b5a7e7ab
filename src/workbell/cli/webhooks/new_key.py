"""`workbell webhooks new-key`: what the setting `secret_key` is set to."""

from __future__ import annotations

import click

from workbell.trust.sealing import VARIABLE, new_key


@click.command("new-key", help="Make a key that keeps the secrets of endpoints sealed in the store.")
def print_new_key() -> None:
    # Alone on stdout, so that it can be piped to where it is kept.
    click.echo(f"Set it as {VARIABLE}, for every process on this store, and keep it apart from the database:", err=True)
    click.echo(new_key())
