"""`workbell webhooks deliveries`: what was and will be sent to an endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import click

from workbell.cli.bell import now_of, opened_client
from workbell.cli.find import find_endpoint, run_cursor, short
from workbell.cli.output import can_draw, echo, make_console, one_line, print_json, span
from workbell.cli.project import client_options, json_option, limit_option, open_project, tenant_option
from workbell.cli.words import ago, due_in
from workbell.model.delivery import Delivery
from workbell.model.run import Status
from workbell.runs.filters import PAGE


@click.command(help="List what was and will be sent to an endpoint, newest first.")
@click.argument("endpoint_id", metavar="ID")
@click.option("--status", type=click.Choice([status.value for status in Status]), help="Only these.")
@limit_option(PAGE)
@click.option("--before", metavar="ID", help="Only older ones: the last delivery of the page before.")
@client_options
@tenant_option
@json_option
def deliveries(
    endpoint_id: str,
    status: str | None,
    limit: int,
    before: str | None,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        endpoint = find_endpoint(bell, endpoint_id)
        last = None if before is None else run_cursor(bell, before)
        found = bell.webhooks.deliveries(endpoint.id, status=status, before=last, limit=limit)
        now = now_of(bell)
    if as_json:
        print_json([delivery.as_dict() for delivery in found])
    elif not found:
        some = status is not None or before is not None
        ping = f"`workbell webhooks test {short(endpoint.id)}` sends a ping"
        echo("No delivery has this status." if some else f"Nothing was sent to it yet; {ping}.")
    else:
        _show(found, now)
        echo(f"Each try of one: workbell runs show {short(found[0].id)}", err=True)
        if len(found) == limit:
            echo(f"Older ones: --before {found[-1].id}", err=True)


def _show(found: Sequence[Delivery], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows
    from workbell.cli.runs.appearance import STYLES

    console = make_console()
    rows = []
    for delivery in found:
        style = STYLES[delivery.status]
        ids = (delivery.id, delivery.event or "")
        cells = [
            Text(f"{style.symbol if can_draw(console) else style.plain} {style.word}", style.style),
            *(Text(short(each) if console.is_terminal else each, "dim") for each in ids),
            Text(str(delivery.attempts or ""), "dim"),
            Text(when(delivery, now)),
            Text("" if delivery.duration_ms is None else span(timedelta(milliseconds=delivery.duration_ms)), "dim"),
        ]
        rows.append(TableRow(cells, Text(delivery_outcome(delivery))))
    names = ("status", "delivery", "event", "#", "when", "took")
    print_rows(console, names, "answer", rows, right=("#", "took"))


def when(delivery: Delivery, now: datetime) -> str:
    if delivery.next_attempt_at is not None:
        return due_in(delivery.next_attempt_at, now)
    return ago(delivery.finished_at or delivery.created_at, now)


def delivery_outcome(delivery: Delivery) -> str:
    """The error or the answer, in one line."""
    if delivery.error:
        return one_line(delivery.error)
    answer = one_line(delivery.answer or "", 100)
    return "" if delivery.status_code is None else f"{delivery.status_code} {answer}".rstrip()
