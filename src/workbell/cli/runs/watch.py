"""`workbell runs watch`: live view of a run: a progress bar on a terminal, lines anywhere else."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import click

from workbell.cli.bell import AnyRun, opened_client
from workbell.cli.find import find_run, short
from workbell.cli.output import echo, make_console, print_json_line
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.runs.follow import as_dict, follow, line_text
from workbell.cli.words import here_now, local
from workbell.model.log_line import LogLine
from workbell.model.run import Status

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130


@click.command(help="Watch a run until it has ended; exit with 0 if it succeeded, else with 1. Ctrl-C leaves it alone.")
@click.argument("run_id", metavar="ID")
@client_options
@tenant_option
@json_option
@click.pass_context
def watch(context: click.Context, run_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        run = find_run(bell, run_id)
        console = make_console()
        try:
            with _view(console, as_json) as view:
                for seen, lines in follow(bell, run.id):
                    run = seen
                    view.show(run, lines)
        except KeyboardInterrupt:
            message = f"Run {short(run.id)} goes on; `workbell runs cancel {short(run.id)}` would end it."
            echo(message, err=True)
            context.exit(INTERRUPTED)
        if not as_json:
            _print_end(console, run)
    if run.status is not Status.SUCCEEDED:
        context.exit(1)


class RunView(Protocol):
    def show(self, run: AnyRun, lines: list[LogLine]) -> None: ...


def _view(console: Console, as_json: bool) -> AbstractContextManager[RunView]:
    if as_json:
        return _JsonView()
    if console.is_terminal:
        from workbell.cli.runs.bar import BarView

        return BarView(console)
    return _LineView(console)


class _JsonView:
    """One JSON object on a line, for each log line and for each change."""

    def __init__(self) -> None:
        self._last: dict[str, object] | None = None

    def __enter__(self) -> RunView:
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, run: AnyRun, lines: list[LogLine]) -> None:
        for line in lines:
            print_json_line({"log": as_dict(line)})
        if self._last != run.as_dict():
            self._last = run.as_dict()
            print_json_line({"run": self._last})


class _LineView:
    """A line for each change that people care about."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._printed = ""

    def __enter__(self) -> RunView:
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, run: AnyRun, lines: list[LogLine]) -> None:
        from workbell.cli.runs.appearance import came

        for line in lines:
            self._console.print(line_text(line, attempt=run.attempt > 1), soft_wrap=True)
        if not run.status.final:
            what = came(run)
            text = f"{_now_word(run)}{': ' if what else ''}{what}"
            if text != self._printed:
                self._printed = text
                self._console.print(f"{local(here_now())[11:]} {text}", markup=False, soft_wrap=True)
        self._console.file.flush()


def _now_word(run: AnyRun) -> str:
    if run.status is Status.RUNNING:
        return f"{'stopping' if run.cancel_requested else 'running'}, attempt {run.attempt}"
    if run.status is Status.SCHEDULED:
        return f"scheduled for {local(run.scheduled_for)}"
    return run.status.value


def _print_end(console: Console, run: AnyRun) -> None:
    from rich.text import Text

    from workbell.cli.runs.appearance import came, status_text, took_text

    after = took_text(run, run.updated_at)
    line = status_text(run, console).append(f"{f' after {after}' if after else ''}", "")
    line.append(f"  run {run.id} of {run.job}", "dim")
    console.print(line, soft_wrap=True)
    if what := came(run):
        console.print(Text(what), soft_wrap=True)
