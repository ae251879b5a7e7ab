"""`workbell jobs run`: enqueues a run of a job, now or after a delay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar, cast

import click

from workbell.cli.acting import say_tenant
from workbell.cli.bell import AnyRun, Here, opened_here
from workbell.cli.jobs.known import find_job, make_known
from workbell.cli.output import echo, make_console, print_json
from workbell.cli.project import code_options, json_option, open_project, tenant_option
from workbell.cli.runs.appearance import came
from workbell.cli.values import JSON, SPAN
from workbell.errors import WaitTimeout
from workbell.model.request import EnqueueOptions
from workbell.model.run import Run, Status

PICKUP_WAIT = 1.0  # seconds to see whether a worker takes the run up

Command = TypeVar("Command", bound=Callable[..., Any])


def wait_options(command: Command) -> Command:
    wait = click.option("--wait", is_flag=True, help="Wait until it has ended; exit with 1 unless it succeeded.")
    timeout = click.option(
        "--timeout", type=SPAN, metavar="SPAN", help="How long to wait at the most; then exit with 3."
    )
    return wait(timeout(command))


@click.command("run", help="Run a job now, as soon as a worker is free.")
@click.argument("name")
@click.option(
    "--input",
    "given",
    type=JSON,
    metavar="JSON",
    help="The arguments by name; otherwise those of its own schedule.",
)
@click.option("--delay", type=SPAN, metavar="SPAN", help="Not now but after this: 90, 5m, 1h30m.")
@click.option("--queue", metavar="NAME", help="Another queue than the job's own.")
@click.option("--priority", type=click.IntRange(-100, 100), help="Higher runs first.")
@click.option("--key", metavar="TEXT", help="Deduplicate: one run of the job with this key at a time.")
@click.option("--tag", metavar="TEXT", help="A word to find it by.")
@click.option("--target", metavar="AGENT", help="Which agent is to run it: a name, or label:x.")
@wait_options
@code_options
@tenant_option
@json_option
@click.pass_context
def run_job(
    context: click.Context,
    /,
    name: str,
    given: dict[str, Any] | None,
    wait: bool,
    timeout: timedelta | None,
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    project = open_project(app=app, url=url, tenant=tenant)
    with opened_here(project, url, create=True) as here:
        arguments = _usual_input(here, name) if given is None else given
        chosen = {word: value for word, value in options.items() if value is not None}
        made = here.bell.enqueue(name, arguments, **cast(EnqueueOptions, chosen))
        say_tenant(here.bell)
        run = made if isinstance(made, Run) else here.bell.get(made.id)
        make_known(here.bell, name)
        finish(context, here, run, wait=wait, timeout=timeout, as_json=as_json)


def finish(
    context: click.Context, here: Here, run: AnyRun, *, wait: bool, timeout: timedelta | None, as_json: bool
) -> None:
    """Show a run: at its end with `wait`, otherwise after a short wait."""
    if wait:
        if not as_json:
            echo(f"Run {run.id} of {run.job}: waiting for its end.", err=True)
        run = here.bell.wait(run.id, timeout)
    elif run.status is not Status.SCHEDULED and not as_json:
        run = _wait_for_pickup(here, run)
    if as_json:
        print_json(run.as_dict())
    else:
        _print_run(run, "" if run.status.final else here.bell.why(run.id))
    if wait and run.status is not Status.SUCCEEDED:
        context.exit(1)


def _usual_input(here: Here, name: str) -> dict[str, Any]:
    """Input that its own schedule would give it."""
    known = find_job(here, name)
    if known.file is not None:
        return known.file.input
    return next((schedule.input for schedule in known.schedules if schedule.name == name), {})


def _wait_for_pickup(here: Here, run: AnyRun) -> AnyRun:
    """The run after a short wait, in which a free worker has started it."""
    try:
        return here.bell.wait(run.id, PICKUP_WAIT)
    except WaitTimeout:
        return here.bell.get(run.id)


def _print_run(run: AnyRun, why: str) -> None:
    console = make_console()
    if run.status.final:
        style = "green" if run.status is Status.SUCCEEDED else "red"
        console.print(f"Run {run.id} of {run.job}: {run.status}", style=style, markup=False, soft_wrap=True)
        if what := came(run):
            console.print(what, markup=False, soft_wrap=True)
        return
    console.print(f"Run {run.id} of {run.job}: {run.status}", markup=False, soft_wrap=True)
    console.print(why, markup=False, soft_wrap=True)
