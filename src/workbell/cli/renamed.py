"""Renamed options: the old name is accepted for one more release, and hidden from help and reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from workbell.cli.output import echo


class Renamed(click.Option):
    """An option with one old word: `click.option("--input", cls=Renamed, old="--data")`.

    `read` turns a value of the old word into one of the new, as texts; a ValueError leaves it to the option's type
    to say what is wrong.
    """

    def __init__(self, *args: Any, old: str, read: Callable[[str], str] | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.old = old
        self.read = read

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        # Not among `opts`, which help, errors and the reference show.
        parser.add_option(obj=self, opts=[self.old], dest=self.old, action="store", nargs=self.nargs)

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if self.old in opts:
            if self.name in opts:
                new = self.opts[-1]
                raise click.UsageError(f"{self.old} is the old word for {new}; give {new} alone.", ctx)
            opts = {**opts, str(self.name): self._read(opts[self.old])}
        return super().handle_parse_result(ctx, opts, args)

    def _read(self, given: str) -> str:
        old, new, value = self.old, self.opts[-1], given
        if self.read is not None:
            try:
                value = self.read(given)
            except ValueError:
                return given
            old, new = f"{old} {given}", f"{new} {value}"
        echo(f"workbell: {old} is now {new}; the next release no longer takes the old word.", err=True)
        return value
