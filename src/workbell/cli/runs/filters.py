"""Filter options for runs, for lists and for actions with --all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.cli.values import SINCE, USER, Kind
from workbell.model.input_fields import value_from
from workbell.model.run import Status
from workbell.model.run_filter import WORDS, FilterOptions, Word, WordKind

Command = TypeVar("Command", bound=Callable[..., Any])


class InputField(Kind):
    """`customer.id=42`: a path, and a JSON value; what is no JSON is a text."""

    name = "field"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        path, equals, text = str(value).partition("=")
        if not equals:
            self.fail(f"{value!r} is no field with its value; write one such as customer.id=42.", param, ctx)
        return path.strip(), value_from(text)


TYPES: dict[WordKind, dict[str, Any]] = {
    WordKind.STATUSES: {"multiple": True, "type": click.Choice([status.value for status in Status])},
    WordKind.NAME: {"metavar": "NAME"},
    WordKind.SCHEDULE: {"metavar": "NAME"},
    WordKind.USER: {"type": USER, "metavar": "USER"},
    WordKind.EVENT: {"metavar": "ID"},
    WordKind.RUN: {"metavar": "ID"},
    WordKind.YES_NO: {"default": None},
    WordKind.TIME: {"type": SINCE, "metavar": "TIME"},
    WordKind.INPUT: {"multiple": True, "type": InputField(), "metavar": "PATH=VALUE"},
}


def filter_options(command: Command) -> Command:
    """Give a command the options; given values come as keyword arguments, for `filter_from`."""
    for name, word in reversed([*WORDS.items()]):
        command = _option(name, word)(command)
    return command


def _option(name: str, word: Word) -> Callable[[Command], Command]:
    dashed = name.replace("_", "-")
    flag = f"--{dashed}/--not-{dashed}" if word.kind is WordKind.YES_NO else f"--{dashed}"
    own = {} if word.metavar is None else {"metavar": word.metavar}
    return click.option(flag, help=word.help, **TYPES[word.kind] | own)


def filter_from(given: dict[str, Any]) -> FilterOptions:
    """The filter options of `bell.runs` that were given."""
    words: dict[str, Any] = {name: given[name] for name in WORDS if given[name] not in (None, ())}
    if "input" in words:
        words["input"] = dict(words["input"])
    found: FilterOptions = words  # type: ignore[assignment]
    return found
