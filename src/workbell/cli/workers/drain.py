"""`workbell workers drain` and `workbell workers resume`."""

from __future__ import annotations

import click

from workbell.cli.acting import note
from workbell.cli.bell import AnyClient, opened_client
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.runs.find import SHORTEST, short
from workbell.errors import InvalidOption, WorkerNotFound
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
        seen = bell.drain_worker(_find(bell, worker_id))
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
        seen = bell.resume_worker(_find(bell, worker_id))
        note(bell, "workers.resume", seen.worker.id, aloud=False)
    if as_json:
        print_json(WorkerShown.of(seen))
    else:
        echo(f"Worker {seen.worker.id} claims runs again.")


def _find(bell: AnyClient, text: str) -> str:
    """Which worker is meant. Of several the living one, if only one of them lives."""
    part = text.strip()
    known = bell.workers()
    found = [one for one in known if one.worker.id == part]
    if not found and len(part) >= SHORTEST:
        found = [one for one in known if one.worker.id.endswith(part) or one.worker.id.startswith(part)]
    if len(found) > 1:
        found = [one for one in found if one.alive] or found
    if len(found) > 1:
        listed = ", ".join(one.worker.id for one in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    if not found:
        raise WorkerNotFound(
            f"There is no worker {text!r}; give its id, or at least {SHORTEST} letters of it: `workbell workers list`."
        )
    return found[0].worker.id
