"""`workbell workers list` and `workbell workers rewinds`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from workbell.cli.bell import now_of, opened_client, say_empty
from workbell.cli.find import short
from workbell.cli.output import can_draw, echo, make_console, one_line, print_json
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.words import ago, or_unreadable
from workbell.model.rewind import Rewind
from workbell.model.worker import SeenWorker
from workbell.runs.workers import MOST_REWINDS
from workbell.wire.workers import WorkerShown

if TYPE_CHECKING:
    from rich.text import Text

NAMED = 3  # jobs that are named of those a worker is busy with
STYLES = {
    "lost": ("✗", "x", "bold red"),
    "stopping": ("◷", "z", "yellow"),
    "draining": ("◌", "-", "yellow"),  # requested, and not confirmed by the worker yet
    "drained": ("◌", "-", "yellow"),
    "alive": ("✓", "+", "green"),
}


@click.command("list", help="List the workers, and what they are doing. Lost ones are shown for a day.")
@client_options
@tenant_option
@json_option
def list_workers(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = bell.workers()
        now = now_of(bell)
    if as_json:
        print_json([WorkerShown.of(seen) for seen in found])
    elif found:
        _show(found, now)
    else:
        say_empty(bell, "No worker is running; start one with `workbell dev` or `workbell start`.")


@click.command(help="List runs that a rewind of the store concerns: what workers knew of them, and the store forgot.")
@limit_option(MOST_REWINDS)
@click.option("--before", metavar="ID", help="Only older ones: the id of the last record of the page before.")
@client_options
@tenant_option
@json_option
def rewinds(limit: int, before: str | None, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = bell.workers.rewinds(before=before, limit=limit)
        now = now_of(bell)
    if as_json:
        print_json(found)
    elif found:
        _show_rewinds(found, now)
        if len(found) == limit:
            echo(f"Older ones: --before {found[-1].id}", err=True)
    else:
        say_empty(bell, "No worker has noticed that the store was rewound.")


def _show_rewinds(found: Sequence[Rewind], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    rows = [
        TableRow(
            [Text(ago(one.noticed_at, now), "dim"), Text(one.run), Text(one.kind, "bold"), Text(short(one.worker))],
            Text(one_line(one.detail)),
        )
        for one in found
    ]
    print_rows(make_console(), ("noticed", "run", "kind", "worker"), "what happened", rows)


def _show(found: Sequence[SeenWorker], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = []
    for seen in found:
        worker = seen.worker
        cells = [
            _worker(seen, can_draw(console)),
            Text(short(worker.id)),
            Text(str(worker.pid)),
            Text(ago(worker.started_at, now), "dim"),
            Text(ago(worker.seen_at, now), "" if seen.alive else "bold red"),
            Text("all" if worker.queues is None else one_line(", ".join(worker.queues), 30)),
            Text(str(len(worker.jobs))),
            Text(worker.version, "dim"),
        ]
        rows.append(TableRow(cells, Text(or_unreadable(worker, _now(seen)))))
    names = ("worker", "id", "pid", "started", "seen", "queues", "jobs", "version")
    print_rows(console, names, "now", rows, right=("pid", "jobs"))


def _worker(seen: SeenWorker, symbols: bool) -> Text:
    from rich.text import Text

    word = _state(seen)
    symbol, plain, style = STYLES[word]
    suffix = "" if word == "alive" else f" ({word})"
    return Text(f"{symbol if symbols else plain} {one_line(seen.worker.host, 30)}{suffix}", style)


def _state(seen: SeenWorker) -> str:
    if not seen.alive:
        return "lost"
    if seen.worker.stopping:
        return "stopping"
    if seen.worker.drained_at is None:
        return "alive"
    return "draining" if seen.worker.drain_seen_at is None else "drained"


def _now(seen: SeenWorker) -> str:
    """`running 4 of 10: send ×3, report`."""
    if not seen.busy:
        return "idle"
    counted = Counter(run.job for run in seen.runs).most_common()
    listed = [f"{one_line(job)} ×{count}" if count > 1 else one_line(job) for job, count in counted[:NAMED]]
    if counted[NAMED:]:
        listed.append(f"and {len(counted) - NAMED} more")
    return f"running {seen.busy} of {seen.worker.concurrency}{': ' if listed else ''}{', '.join(listed)}"
