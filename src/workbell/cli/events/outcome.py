"""Formats the outcome of a match: the run's status, or why there is no run."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from workbell.cli.bell import AnyRun
from workbell.cli.output import can_draw, one_line
from workbell.cli.run_lines import MoveStyle
from workbell.cli.runs.appearance import came, status_text
from workbell.model.event import MatchOutcome

STYLES = {
    MatchOutcome.STARTED: MoveStyle("✓", "+", "dim", "started"),
    MatchOutcome.DISABLED: MoveStyle("–", "-", "yellow", "disabled"),
    MatchOutcome.TOO_DEEP: MoveStyle("✗", "x", "red", "too deep"),
}


def outcome_text(outcome: MatchOutcome, run_id: str | None, run: AnyRun | None, console: Console) -> Text:
    """The status of the run, until it is removed; then the outcome."""
    if run is not None:
        return status_text(run, console)
    style = STYLES[outcome]
    word = "run removed" if run_id is not None else style.word
    return Text(f"{style.symbol if can_draw(console) else style.plain} {word}", style.style)


def what_came_of(reason: str | None, run: AnyRun | None) -> str:
    return one_line(reason or "") if run is None else came(run)
