"""Follows a run until its end: its state, and new log lines since the last read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from workbell.cli.bell import AnyClient, AnyRun
from workbell.cli.output import printable
from workbell.cli.words import local
from workbell.model.log_line import LogLine
from workbell.runs.verbs import polled

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {"DEBUG": "dim", "INFO": "", "WARNING": "yellow", "ERROR": "red", "CRITICAL": "bold red"}


def follow(bell: AnyClient, run_id: str, after: LogLine | None = None) -> Iterator[tuple[AnyRun, list[LogLine]]]:
    """Log lines are read after the run: those from before its end come with the read that shows the end."""
    for run in states(bell, run_id):
        lines = list(all_lines(bell, run_id, after))
        after = lines[-1] if lines else after
        yield run, lines


def states(bell: AnyClient, run_id: str) -> Iterator[AnyRun]:
    """A run again and again until it has ended."""

    def get(run_id: str) -> AnyRun:
        return bell.get(run_id)

    return polled(get, run_id)


def all_lines(bell: AnyClient, run_id: str, after: LogLine | None = None) -> Iterator[LogLine]:
    while page := bell.logs(run_id, after=after):
        yield from page
        after = page[-1]


def as_dict(line: LogLine) -> dict[str, Any]:
    return msgspec.structs.asdict(line)


def line_text(line: LogLine, *, attempt: bool) -> Text:
    """`12:03:04 warning  message`; further lines of a message are set in."""
    from rich.text import Text

    level = line.level.lower()
    text = Text().append(f"{local(line.at)[11:]} ", "dim")
    if attempt:
        text.append(f"#{line.attempt} ", "dim")
    text.append(f"{level:8} ", STYLES.get(line.level, ""))
    indent = "\n" + " " * 4
    return text.append(printable(line.message).rstrip().replace("\n", indent))
