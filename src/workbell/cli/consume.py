"""`workbell consume`: one round of work, for cron and serverless hosts."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta

import click

from workbell.cli.bell import load_bell
from workbell.cli.output import echo, make_console, make_table, print_json, printable
from workbell.cli.project import app_option, json_option, open_round, url_option
from workbell.cli.values import SPAN
from workbell.engine.consume_round import ConsumeRound
from workbell.engine.one_shot import MOST_RUNS, RUNS, SECONDS
from workbell.model.one_shot import Consumed


@click.command(help="Execute queued runs here until none is left, and return: for cron. With ids: just these runs.")
@click.argument("runs", metavar="[RUN_ID]...", nargs=-1)
@click.option("-n", "--limit", type=click.IntRange(1, MOST_RUNS), help=f"How many runs at the most. [default: {RUNS}]")
@click.option(
    "--for",
    "span",
    type=SPAN,
    metavar="SPAN",
    default=timedelta(seconds=SECONDS),
    help=f"What has not ended by then is handed back. [default: {SECONDS:g}s]",
)
@app_option
@url_option
@json_option
def consume(
    runs: tuple[str, ...], limit: int | None, span: timedelta, app: str | None, url: str | None, as_json: bool
) -> None:
    if runs and limit is not None:
        raise click.UsageError("--limit is for what is chosen here; leave it out, or the ids.")
    with load_bell(open_round(app, url), url) as bell:
        work = bell.one_shot.begin(runs=runs or None, limit=limit or RUNS, seconds=span.total_seconds())
        done = asyncio.run(_until_signal(work))
    if as_json:
        print_json(done)
    else:
        _print(done)


async def _until_signal(work: ConsumeRound) -> Consumed:
    """A signal to stop has what has not ended handed back."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, work.stop)
    return await work.run()


def _print(done: Consumed) -> None:
    if not done.results:
        echo("No run was waiting that may start here.")
        return
    table = make_table("run", "answer", "status", "why", whole=("run",))
    for one in done.results:
        table.add_row(printable(one.run), one.answer, one.status or "", printable(one.reason or ""))
    make_console().print(table)
