"""`workbell runs cancel`, `retry` and `why`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.find import find_run, short
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.runs.every import RunsWanted, one_or_all, order
from workbell.model.run import Status
from workbell.model.state import CANCELED


@click.command(
    help="Cancel a run. It ends at once if no worker has claimed it; otherwise its worker is asked to stop it.\n\n"
    "With --all, end every run of a filter that has not ended; a worker does it."
)
@one_or_all("Cancel")
@click.option(
    "--reason", default=CANCELED, metavar="TEXT", show_default=True, help="The reason that is recorded with one run."
)
@client_options
@tenant_option
@json_option
def cancel(requested: RunsWanted, reason: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        if requested.run_id is None:
            order(bell, "cancel", requested, as_json)
            return
        before = find_run(bell, requested.run_id)
        run = bell.cancel(before.id, reason)
        note(bell, "runs.cancel", run.id, detail={"job": run.job, "reason": reason})
    if as_json:
        print_json(run.as_dict())
    elif before.status.final:
        echo(f"Run {run.id} of {run.job} has ended already: {run.status}.")
    elif run.status is Status.RUNNING:
        watch = f"`workbell runs watch {short(run.id)}`"
        echo(f"Run {run.id} of {run.job}: a worker has it, and is asked to stop it; {watch}.")
    else:
        echo(f"Run {run.id} of {run.job}: {run.status}.")


@click.command(
    help="Run the job of an ended run again, with the same input: a new run.\n\n"
    "With --all, of every run of a filter that has failed, or has the statuses that are named, and was not "
    "retried before; a worker does it."
)
@one_or_all("Retry")
@client_options
@tenant_option
@json_option
def retry(requested: RunsWanted, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        if requested.run_id is None:
            order(bell, "retry", requested, as_json)
            return
        ended = find_run(bell, requested.run_id)
        run = bell.retry(ended.id)
        note(bell, "runs.retry", ended.id, detail={"job": run.job, "run": run.id})
    if as_json:
        print_json(run.as_dict())
    else:
        echo(f"Run {run.id} of {run.job}: {run.status}; `workbell runs watch {short(run.id)}`.")


@click.command(help="Say why a run is not running, or how it ended.")
@click.argument("run_id", metavar="ID")
@client_options
@tenant_option
@json_option
def why(run_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        run = find_run(bell, run_id)
        reason = bell.why(run.id)
    if as_json:
        print_json({"id": run.id, "job": run.job, "status": run.status, "why": reason})
    else:
        echo(reason)
