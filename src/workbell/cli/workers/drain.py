"""`workbell workers drain` and `workbell workers resume`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.find import find_worker, short
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.wire.workers import WorkerShown


@click.command(
    help="Drain a worker: it claims no more runs, finishes what it runs, gives back what it has not begun, and stays "
    "alive until it is resumed or stopped. The worker is named by its id, or by the beginning or the end of it."
)
@click.argument("worker_id", metavar="ID")
@client_options
@tenant_option
@json_option
def drain(worker_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        seen = bell.drain_worker(find_worker(bell, worker_id))
        note(bell, "workers.drain", seen.worker.id, aloud=False)  # it works for all tenants
    if as_json:
        print_json(WorkerShown.of(seen))
        return
    left = "holds none" if not seen.busy else "ends the one it holds" if seen.busy == 1 else f"ends its {seen.busy:,}"
    again = f"`workbell workers resume {short(seen.worker.id)}` lets it go on"
    if seen.worker.drain_seen_at is not None:
        echo(f"Worker {seen.worker.id} claims no more runs, and {left}; {again}.")
        return
    echo(
        f"Worker {seen.worker.id} will claim no more runs within seconds; now it {left}.\n"
        f"Until then `workbell workers list` says draining, then drained. {again}."
    )


@click.command(help="Let a drained worker claim runs again.")
@click.argument("worker_id", metavar="ID")
@client_options
@tenant_option
@json_option
def resume(worker_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        seen = bell.resume_worker(find_worker(bell, worker_id))
        note(bell, "workers.resume", seen.worker.id, aloud=False)
    if as_json:
        print_json(WorkerShown.of(seen))
    else:
        echo(f"Worker {seen.worker.id} claims runs again.")
