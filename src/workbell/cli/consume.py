"""`workbell consume`: one round of work, for cron and serverless hosts."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta

import click

from workbell.app import Workbell
from workbell.cli.bell import opened_round
from workbell.cli.output import echo, make_console, make_table, print_json, printable
from workbell.cli.project import code_options, json_option
from workbell.cli.values import SPAN
from workbell.engine.consume_round import ConsumeRound
from workbell.model.one_shot import CONSUME_SECONDS, CONSUMED_RUNS, MOST_CONSUMED, Consumed


@click.command(help="Execute queued runs here until none is left, and return: for cron. With ids: just these runs.")
@click.argument("runs", metavar="[RUN_ID]...", nargs=-1)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, MOST_CONSUMED),
    help=f"How many runs at the most. [default: {CONSUMED_RUNS}]",
)
@click.option(
    "--for",
    "span",
    type=SPAN,
    metavar="SPAN",
    default=timedelta(seconds=CONSUME_SECONDS),
    help=f"What has not ended by then is handed back. [default: {CONSUME_SECONDS:g}s]",
)
@code_options
@json_option
def consume(
    runs: tuple[str, ...], limit: int | None, span: timedelta, app: str | None, url: str | None, as_json: bool
) -> None:
    if runs and limit is not None:
        raise click.UsageError("--limit is for what is chosen here; leave it out, or the ids.")
    chosen, most, seconds = runs or None, limit or CONSUMED_RUNS, span.total_seconds()
    with opened_round(app, url) as bell:
        if isinstance(bell, Workbell):
            work = bell.one_shot.begin(runs=chosen, limit=most, seconds=seconds)
            done = asyncio.run(_until_signal(work))
        else:
            done = bell.consume(runs=chosen, limit=most, seconds=seconds)  # the service executes them
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
