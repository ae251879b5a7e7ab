"""`workbell queues list`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from workbell.cli.bell import now_of, opened_client, say_empty
from workbell.cli.output import echo, make_console, make_table, one_line, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import ago
from workbell.model.queue_state import QueueState

STATUSES = ("scheduled", "queued", "running")


@click.command("list", help="List the queues: what waits and runs, and what is paused.")
@client_options
@tenant_option
@json_option
def list_queues(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = bell.queues.list()
        jobs = [pause for pause in bell.pauses() if pause.queue is None]
        now = now_of(bell)
    if as_json:
        print_json(found)
        return
    if found:
        _show_table(found, now)
    else:
        say_empty(bell, "There are no queues yet; a job makes its own when it is declared or enqueued.")
    for pause in jobs:
        echo(f"{str(pause).capitalize()} is paused in every queue; `{pause.remedy}` lets it go on.", err=True)


def _show_table(queues: Sequence[QueueState], now: datetime) -> None:
    from rich.text import Text

    console = make_console()
    table = make_table("queue", *STATUSES, "paused", right=STATUSES)
    for queue in queues:
        pauses = [] if queue.paused_since is None else [f"all, {ago(queue.paused_since, now)}"]
        pauses += [f"job {one_line(one.job)}, {ago(one.paused_since, now)}" for one in queue.paused_jobs]
        paused = "\n".join(pauses)
        numbers = (f"{getattr(queue, status):,}{'+' if status in queue.capped else ''}" for status in STATUSES)
        table.add_row(Text(one_line(queue.name)), *numbers, Text(paused or "–", "yellow" if paused else "dim"))
    console.print(table)
