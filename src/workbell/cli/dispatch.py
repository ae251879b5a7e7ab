"""`workbell dispatch`: one round of what is due, for cron and other triggers."""

from __future__ import annotations

import click
import msgspec

from workbell.cli.bell import opened_round
from workbell.cli.output import echo, print_json
from workbell.cli.project import code_options, json_option
from workbell.model.one_shot import DISPATCH_LIMIT, MOST_DISPATCHED


@click.command(help="Do one round of due schedules, events, retries and lost workers, and return: for cron.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, MOST_DISPATCHED),
    default=DISPATCH_LIMIT,
    show_default=True,
    help="How much of each kind at the most.",
)
@code_options
@json_option
def dispatch(limit: int, app: str | None, url: str | None, as_json: bool) -> None:
    with opened_round(app, url) as bell:
        done = msgspec.structs.asdict(bell.dispatch(limit=limit))
    if as_json:
        print_json(done)
        return
    told = ", ".join(f"{count} {word.replace('_', ' ')}" for word, count in done.items() if count)
    echo(told or "Nothing was due.")
