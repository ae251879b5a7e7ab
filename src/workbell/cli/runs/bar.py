"""The live view of a run on a terminal: a progress bar that stays below, and what the handler logs above it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Column

from workbell.cli.bell import AnyRun
from workbell.cli.output import can_draw, one_line
from workbell.cli.runs.appearance import STYLES, number, took_text
from workbell.cli.runs.follow import line_text
from workbell.cli.words import here_now
from workbell.model.log_line import LogLine
from workbell.model.run import Status


class BarView:
    """Progress bar; without a total it only moves to and fro."""

    def __init__(self, console: Console) -> None:
        spinner = "dots" if can_draw(console) else "line"
        self._progress = Progress(
            SpinnerColumn(spinner),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=10)),
            TextColumn("{task.fields[amount]}", markup=False, table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[took]}", markup=False, table_column=Column(no_wrap=True)),
            TextColumn(
                "{task.fields[message]}",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=console,
            transient=True,
            expand=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> BarView:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, run: AnyRun, lines: list[LogLine]) -> None:
        for line in lines:
            self._progress.console.print(line_text(line, attempt=run.attempt > 1))
        if self._task is None:
            self._task = self._progress.add_task(**_fields(run))
        else:
            self._progress.update(self._task, **_fields(run))


def _fields(run: AnyRun) -> dict[str, Any]:
    progress = (run.progress or {}) if run.status is Status.RUNNING else {}
    done, total = progress.get("done", 0), progress.get("total")
    word = "stopping" if run.cancel_requested else STYLES[run.status].word
    again = f" #{run.attempt}" if run.attempt > 1 else ""
    amount = (
        "" if not progress else number(done) if not total else f"{number(done)}/{number(total)} {_percent(done, total)}"
    )
    message = progress.get("message") or (run.reason if run.cancel_requested else None) or ""
    return {
        "description": f"{one_line(run.job, 30)} {word}{again}",
        "completed": min(done, total) if total else 0,
        "total": total or None,
        "amount": amount,
        "took": took_text(run, here_now()),
        "message": one_line(message),
    }


def _percent(done: float, total: float) -> str:
    return f"{min(done / total, 1):.0%}"
