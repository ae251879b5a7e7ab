"""`workbell jobs runs`: the last finished runs of a job."""

from __future__ import annotations

from collections.abc import Sequence

import click

from workbell.cli.bell import opened_here
from workbell.cli.jobs.known import find_job
from workbell.cli.output import can_draw, echo, make_console, one_line, print_json, print_lines, span
from workbell.cli.project import code_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.words import local
from workbell.job_files.job_folder import ENDED, RUNS, JobRun, as_job_run

STYLES = {"completed": ("✓", "+", "green"), "failed": ("✗", "x", "bold red")}


@click.command("runs", help="List the last runs of a job that ended.")
@click.argument("name")
@limit_option(RUNS, default=RUNS)
@code_options
@tenant_option
@json_option
def runs_of_job(name: str, limit: int, app: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    project = open_project(app=app, url=url, tenant=tenant)
    with opened_here(project, url, create=False) as here:
        ended = here.bell.runs(job=name, status=ENDED, limit=limit)
        runs = [as_job_run(run) for run in ended]
        if not runs:
            find_job(here, name)  # raises if there is no such job
    if as_json:
        print_json([run._asdict() for run in runs])
    elif runs:
        _show(runs)
    else:
        echo(f"No run of {name} has ended yet.")


def _show(runs: Sequence[JobRun]) -> None:
    from rich.text import Text

    console = make_console()
    symbols = can_draw(console)
    lines = []
    for run in runs:
        symbol, plain, style = STYLES[run.status]
        took = span(run.ended_at - run.started_at) if run.ended_at and run.started_at else ""
        line = Text().append(f"{local(run.started_at)} ", "dim")
        line.append(f"{symbol if symbols else plain} {run.status:9} ", style)
        line.append(f"{took:>7} #{run.attempt} ", "dim")
        what = Text(run.run_id)
        if run.status == "failed" and run.error:
            what.append("\n" if console.is_terminal else " ").append(one_line(run.error), style)
        lines.append((line, what))
    print_lines(console, lines)
