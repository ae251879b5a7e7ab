"""Following a run: how it is, and what it logged since the last look, until it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from workbell.cli.output import printable
from workbell.cli.words import local
from workbell.client.client import Client
from workbell.model.log_line import LogLine
from workbell.model.run import Run
from workbell.runs.following import looks

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {"DEBUG": "dim", "INFO": "", "WARNING": "yellow", "ERROR": "red", "CRITICAL": "bold red"}


def follow(bell: Client, run_id: str, after: LogLine | None = None) -> Iterator[tuple[Run, list[LogLine]]]:
    """The lines are read after the run: whatever was logged before its end comes with the look that shows the end."""
    for run in looks(bell, run_id):
        lines = list(all_lines(bell, run_id, after))
        after = lines[-1] if lines else after
        yield run, lines


def all_lines(bell: Client, run_id: str, after: LogLine | None = None) -> Iterator[LogLine]:
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
