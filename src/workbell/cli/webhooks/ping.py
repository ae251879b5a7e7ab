"""`workbell webhooks test`: a ping, and what the endpoint answered."""

from __future__ import annotations

import time
from datetime import timedelta

import click

from workbell.cli.acting import note
from workbell.cli.bell import AnyClient, AnyRun, opened_client
from workbell.cli.find import find_endpoint
from workbell.cli.output import echo, make_console, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.runs.follow import states
from workbell.cli.values import SPAN
from workbell.cli.webhooks.deliveries import delivery_outcome
from workbell.model.run import Status
from workbell.webhooks.describe import delivery_of

PATIENCE = timedelta(seconds=10)
TOO_LATE = 3


@click.command(
    help="Send a ping to an endpoint, and say what it answered. "
    "Exits with 1 unless it took it, and with 3 if there is no answer in time."
)
@click.argument("endpoint_id", metavar="ID")
@click.option("--timeout", type=SPAN, metavar="SPAN", help="How long to wait for the answer. Otherwise: 10s.")
@client_options
@tenant_option
@json_option
@click.pass_context
def test(
    context: click.Context,
    endpoint_id: str,
    timeout: timedelta | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        endpoint = find_endpoint(bell, endpoint_id)
        ping = bell.webhooks.test(endpoint.id)
        note(bell, "webhooks.test", endpoint.id, detail={"to": endpoint.shown_url, "delivery": ping.id})
        run = _tried(bell, ping.id, PATIENCE if timeout is None else timeout)
        why = "" if _is_tried(run) else bell.why(run.id)
    delivery = delivery_of(run)
    if as_json:
        print_json(delivery.as_dict())
    elif why:
        echo(f"{_not_yet(run)} {why}")
    else:
        well = run.status is Status.SUCCEEDED
        text = f"{endpoint.shown_url} {'took' if well else 'did not take'} the ping: {delivery_outcome(delivery)}"
        make_console().print(text, style="green" if well else "red", markup=False, soft_wrap=True)
    if run.status is not Status.SUCCEEDED:
        context.exit(1 if _is_tried(run) else TOO_LATE)


def _tried(bell: AnyClient, run_id: str, patience: timedelta) -> AnyRun:
    """The run once its first try has ended: one that failed would go on for days."""
    end = time.monotonic() + patience.total_seconds()
    for run in states(bell, run_id):
        if _is_tried(run) or time.monotonic() >= end:
            return run
    raise AssertionError("unreachable")


def _not_yet(run: AnyRun) -> str:
    """An endpoint may take longer to answer than we wait here."""
    sent = run.status is Status.RUNNING
    return "The ping is on its way, and there is no answer yet." if sent else "The ping was not sent yet."


def _is_tried(run: AnyRun) -> bool:
    return run.status.final or (run.attempt > 0 and run.status is not Status.RUNNING)
