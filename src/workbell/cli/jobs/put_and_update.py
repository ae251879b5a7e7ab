"""`workbell jobs put` and `update`: make, replace and change a definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from workbell.cli.acting import note
from workbell.cli.bell import Here, now_of, opened_here
from workbell.cli.jobs.known import KnownJob, code_of, find_job, list_names
from workbell.cli.output import echo, print_json
from workbell.cli.project import code_options, json_option, open_project, tenant_option
from workbell.cli.retrying import changed_retry, retry_options, take_retry
from workbell.cli.run_options import run_options
from workbell.cli.values import JSON
from workbell.model.capability import unserved
from workbell.model.job import BUILT_IN
from workbell.model.retry import DEFAULT
from workbell.runs.jobs import OPTIONS, JobChanges, JobOptions

Command = TypeVar("Command", bound=Callable[..., Any])

OF_DEFINITIONS = (
    click.option(
        "--input",
        type=JSON,
        metavar="JSON",
        help="The input template: each run's input is merged onto it.",
    ),
    click.option("--description", metavar="TEXT", help="What it is for."),
    click.option("--enabled/--disabled", default=None, help="Whether it takes runs. Otherwise: as it is, or enabled."),
    click.option("--concurrency", type=click.IntRange(1), help="How many of its runs may be running at once."),
    click.option("--concurrency-key", metavar="ARGUMENT", help="Count them for each value of this argument."),
    click.option("--rate", metavar="RATE", help="How many may start in a time: 100/m."),
    click.option("--rate-key", metavar="ARGUMENT", help="Count them for each value of this argument."),
    click.option("--alert-url", metavar="URL", help="Notify this URL of runs that failed for good."),
    click.option("--ping-url", metavar="URL", help="Notify this URL whenever a run ends, as healthchecks.io wants it."),
)
TAKEN_BACK = sorted({"input", *OPTIONS})


def definition_options(command: Command) -> Command:
    command = retry_options(run_options(command))
    for option in reversed(OF_DEFINITIONS):
        command = option(command)
    return command


@click.command(
    help="Make or replace a definition: a job that runs another job's code. All options are those of its own runs, and "
    "every one is replaced: what you leave out is not set any more. `update` changes single ones."
)
@click.argument("name")
@click.option(
    "--handler", metavar="JOB", required=True, help="The job whose code runs; its own name: code in another language."
)
@definition_options
@code_options
@tenant_option
@json_option
def put(
    name: str, handler: str, app: str | None, url: str | None, tenant: str | None, as_json: bool, **given: Any
) -> None:
    retry = take_retry(given)
    options = {word: value for word, value in given.items() if value is not None}
    if retry:
        options["retry"] = changed_retry(retry, DEFAULT)
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=True) as here:
        here.bell.jobs.put(name, handler=handler, **cast(JobOptions, options))
        note(here.bell, "jobs.put", name, detail={"handler": handler})
        _show(here, find_job(here, name), as_json=as_json)


@click.command(help="Change what is given; the rest of a definition stays.")
@click.argument("name")
@click.option("--handler", metavar="JOB", help="Another job whose code runs.")
@definition_options
@click.option(
    "--default",
    "taken_back",
    type=click.Choice(TAKEN_BACK),
    multiple=True,
    help="Reset this setting to its default.",
)
@code_options
@tenant_option
@json_option
def update(
    name: str,
    taken_back: tuple[str, ...],
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    retry = take_retry(given)
    changes = {word: value for word, value in given.items() if value is not None}
    if twice := [word for word in taken_back if word in {*changes, *(["retry"] if retry else [])}]:
        raise click.UsageError(f"--default {twice[0]} and another value of it say two things.")
    changes |= dict.fromkeys(taken_back)
    if not changes and not retry:
        raise click.UsageError("Say what to change, such as --timeout or --input.")
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=False) as here:
        bell = here.bell
        if retry:
            changes["retry"] = changed_retry(retry, bell.jobs.get(name).retry or DEFAULT)
        bell.jobs.update(name, **cast(JobChanges, changes))
        note(bell, "jobs.change", name, detail={"changed": sorted(changes)})
        _show(here, find_job(here, name), as_json=as_json)


def _show(here: Here, known: KnownJob, *, as_json: bool) -> None:
    """A definition that was just written, and what its runs will wait for."""
    bell, job = here.bell, known.job
    if as_json:
        print_json(known.as_dict())
        return
    echo(f"{job.name}: runs the {code_of(job)}{'' if job.enabled else ', once it is enabled'}.")
    missing = unserved([seen.worker for seen in bell.workers()], job.queue, job.name, now_of(bell), job)
    if missing is not None and job.enabled:
        echo(f"Its runs will wait. {missing}", err=True)
    code = sorted(one.name for one in bell.jobs.list() if not one.is_definition and one.name not in BUILT_IN)
    if job.handler not in code and not job.is_elsewhere:
        known_ones = f"; known are {list_names(code)}." if code else " yet."
        echo(f"No code is known that declares {job.handler}{known_ones}", err=True)
