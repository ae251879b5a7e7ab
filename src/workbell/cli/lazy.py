"""Lazy command groups: a command is imported when it is called, not for the help."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import groupby
from typing import Any, NamedTuple

import click

from workbell.cli.service import check_places


class Lazy(NamedTuple):
    """Import path of a command, as `module:function`, its short help, and the heading that it stands under."""

    path: str
    text: str
    heading: str = "Commands"


class LazyGroup(click.Group):
    """A group that knows the import paths and short help of its commands."""

    def __init__(self, *args: Any, lazy: Mapping[str, Lazy], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        module, _, function = self.lazy[cmd_name].path.partition(":")
        command = getattr(importlib.import_module(module), function)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in self.lazy or name.startswith("-"):
            found = super().resolve_command(ctx, args)
            command = found[1]
            asks_for_help = bool({*args} & {*ctx.help_option_names})
            if command is not None and not isinstance(command, LazyGroup) and not asks_for_help:
                check_places(ctx, name, command)
            return found
        near = " or ".join(repr(known) for known in sorted(get_close_matches(name, self.lazy)))
        hint = f"Did you mean {near}?" if near else f"The commands are {', '.join(self.lazy)}."
        raise click.UsageError(f"No such command {name!r}. {hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.lazy))  # one column of texts under all headings
        for heading, commands in groupby(self.lazy.items(), key=lambda command: command[1].heading):
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), lazy.text) for name, lazy in commands])
