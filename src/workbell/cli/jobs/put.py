"""`workbell jobs put`: makes or replaces a definition."""

from __future__ import annotations

from typing import Any, cast

import click

from workbell.cli.acting import note
from workbell.cli.bell import now_of, opened_here
from workbell.cli.jobs.known import find_job, list_names
from workbell.cli.output import echo, print_json
from workbell.cli.project import code_options, json_option, open_project, tenant_option
from workbell.cli.retrying import retry_options, take_retry
from workbell.cli.run_options import run_options
from workbell.cli.schedules.settings import changed_retry
from workbell.cli.values import JSON
from workbell.model.capability import unserved
from workbell.model.job import BUILT_IN
from workbell.model.retry import DEFAULT
from workbell.runs.jobs import JobOptions


@click.command(
    help="Make or replace a definition: a job that runs another job's code. All options are those of its own runs."
)
@click.argument("name")
@click.option("--handler", metavar="JOB", required=True, help="The job whose code runs.")
@click.option("--template", type=JSON, metavar="JSON", help="The payload template: each run's input is merged onto it.")
@click.option("--description", metavar="TEXT", help="What it is for.")
@click.option("--enabled/--disabled", default=None, help="Whether it takes runs. Otherwise: as it is, or enabled.")
@click.option("--concurrency", type=click.IntRange(1), help="How many of its runs may be running at once.")
@click.option("--concurrency-key", metavar="ARGUMENT", help="Count them for each value of this argument.")
@click.option("--rate", metavar="RATE", help="How many may start in a time: 100/m.")
@click.option("--rate-key", metavar="ARGUMENT", help="Count them for each value of this argument.")
@click.option("--alert-url", metavar="URL", help="Notify this URL of runs that failed for good.")
@click.option("--ping-url", metavar="URL", help="Notify this URL whenever a run ends, as healthchecks.io wants it.")
@retry_options({})
@run_options
@code_options
@tenant_option
@json_option
def put(
    name: str,
    handler: str,
    template: dict[str, Any] | None,
    enabled: bool | None,
    app: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    retry = take_retry(given)
    options = {word: value for word, value in given.items() if value is not None}
    if retry:
        options["retry"] = changed_retry(retry, DEFAULT)
    with opened_here(open_project(app=app, url=url, tenant=tenant), url, create=True) as here:
        bell = here.bell
        job = bell.jobs.put(name, handler=handler, payload=template, enabled=enabled, **cast(JobOptions, options))
        note(bell, "jobs.put", name, detail={"handler": handler})
        missing = unserved([seen.worker for seen in bell.workers()], job.queue, name, now_of(bell), job)
        known = find_job(here, name)
        code = sorted(one.name for one in bell.jobs.list() if not one.is_definition and one.name not in BUILT_IN)
    if as_json:
        print_json(known.as_dict())
        return
    echo(f"{name}: runs the code of {job.handler}{'' if job.enabled else ', once it is enabled'}.")
    if missing is not None and job.enabled:
        echo(f"Its runs will wait. {missing}", err=True)
    if handler not in code:
        known_ones = f"; known are {list_names(code)}." if code else " yet."
        echo(f"No code is known that declares {handler}{known_ones}", err=True)
