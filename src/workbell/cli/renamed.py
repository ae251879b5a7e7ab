"""Renamed options: the old word is still accepted for one release, and is not shown in help or the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click


class Renamed(click.Option):
    """An option with one old word: `click.option("--input", cls=Renamed, old="--data")`."""

    def __init__(self, *args: Any, old: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.old = old

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        # Not among `opts`, which help, errors and the reference show.
        parser.add_option(obj=self, opts=[self.old], dest=self.old, action="store", nargs=self.nargs)

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if self.old in opts:
            new = self.opts[-1]
            if self.name in opts:
                raise click.UsageError(f"{self.old} is the old word for {new}; give {new} alone.", ctx)
            click.echo(f"workbell: {self.old} is now {new}; the next release no longer takes the old word.", err=True)
            opts = {**opts, str(self.name): opts[self.old]}
        return super().handle_parse_result(ctx, opts, args)
