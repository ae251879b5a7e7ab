"""`workbell queues list`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import click

from workbell.app import Workbell
from workbell.cli.bell import opened_store
from workbell.cli.output import echo, make_console, make_table, one_line, print_json
from workbell.cli.project import json_option, open_project, say_empty, store_options, tenant_option
from workbell.cli.words import ago
from workbell.model.pause import Pause

STATUSES = ("scheduled", "queued", "running")


class QueueRow(NamedTuple):
    """A queue that has live runs, that a job is declared for, or that is paused."""

    name: str
    scheduled: int
    queued: int
    running: int
    pauses: Sequence[Pause]

    def as_dict(self) -> dict[str, Any]:
        whole = next((pause.since for pause in self.pauses if pause.job is None), None)
        return {
            "name": self.name,
            **{status: getattr(self, status) for status in STATUSES},
            "paused_since": whole,
            "paused_jobs": [
                {"job": pause.job, "paused_since": pause.since} for pause in self.pauses if pause.job is not None
            ],
        }


def all_queues(bell: Workbell) -> list[QueueRow]:
    """The queues of the tenant, by name."""
    pauses = bell.pauses()
    lanes = [counts for counts in bell.store.reports.counts() if counts.lane.tenant == bell.tenant]
    names = {job.queue for job in bell.store.jobs.list(bell.tenant)} | {counts.lane.queue for counts in lanes}
    names |= {pause.queue for pause in pauses if pause.queue is not None}
    return [
        QueueRow(
            name,
            sum(counts.scheduled for counts in lanes if counts.lane.queue == name),
            sum(counts.queued for counts in lanes if counts.lane.queue == name),
            sum(counts.running for counts in lanes if counts.lane.queue == name),
            [pause for pause in pauses if pause.queue == name],
        )
        for name in sorted(names)
    ]


@click.command("list", help="List the queues: what waits and runs, and what is paused.")
@store_options
@tenant_option
@json_option
def list_queues(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_store(open_project(url=url, tenant=tenant), create=False) as bell:
        found = all_queues(bell)
        jobs = [pause for pause in bell.pauses() if pause.queue is None]
        now = bell.store.clock.now()
    if as_json:
        print_json([queue.as_dict() for queue in found])
        return
    if found:
        _show_table(found, now)
    else:
        say_empty(bell.settings.url, "There are no queues yet; a job makes its own when it is declared or enqueued.")
    for pause in jobs:
        echo(f"{str(pause).capitalize()} is paused in every queue; `{pause.remedy}` lets it go on.", err=True)


def _show_table(queues: list[QueueRow], now: datetime) -> None:
    from rich.text import Text

    console = make_console()
    table = make_table("queue", *STATUSES, "paused", right=STATUSES)
    for queue in queues:
        paused = "\n".join(_paused(pause, now) for pause in queue.pauses)
        numbers = (f"{getattr(queue, status):,}" for status in STATUSES)
        table.add_row(Text(one_line(queue.name)), *numbers, Text(paused or "–", "yellow" if paused else "dim"))
    console.print(table)


def _paused(pause: Pause, now: datetime) -> str:
    whole = "all" if pause.job is None else f"job {one_line(pause.job)}"
    return f"{whole}, {ago(pause.since, now)}"
