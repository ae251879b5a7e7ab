"""`workbell queues pause` and `workbell queues resume`."""

from __future__ import annotations

from difflib import get_close_matches

import click

from workbell.cli.acting import note
from workbell.cli.bell import opened_client
from workbell.cli.output import echo, print_json
from workbell.cli.pausing import paused, resumed
from workbell.cli.project import client_options, json_option, open_project, tenant_option


@click.command(help="Start no more runs of a queue until it is resumed. What is running goes on.")
@click.argument("name")
@click.option("--job", metavar="NAME", help="Only the runs of this job in the queue.")
@client_options
@tenant_option
@json_option
def pause(name: str, job: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=True) as bell:
        known = {queue.name for queue in bell.queues.list()}
        made = bell.pause(queue=name, job=job)
        note(bell, "queues.pause", name, detail={"job": job})
    if as_json:
        print_json(made)
    else:
        echo(paused(made))
    if name not in known:
        near = get_close_matches(name, known, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        undo = f"`workbell queues resume {name}` takes it back"
        echo(f"No job is declared for queue {name}, and no run waits there; {meant}{undo}.", err=True)


@click.command(help="Let the runs of a paused queue start again.")
@click.argument("name")
@click.option("--job", metavar="NAME", help="Only the runs of this job in the queue.")
@client_options
@tenant_option
@json_option
def resume(name: str, job: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        ended = bell.resume(queue=name, job=job)
        left = bell.pauses()
        note(bell, "queues.resume", name, detail={"job": job, "resumed": ended})
    what = f"queue {name}" if job is None else f"job {job} in queue {name}"
    if as_json:
        print_json({"queue": name, "job": job, "resumed": ended})
    else:
        echo(resumed(what, ended, left))
