"""`workbell webhooks list` and `workbell webhooks show`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from workbell.cli.bell import AnyClient, now_of, opened_client, say_empty
from workbell.cli.find import find_endpoint, short
from workbell.cli.output import echo, make_console, one_line, print_facts, print_json, span
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import ago, local, or_unreadable, retry_in_words
from workbell.model.endpoint import DELIVERY_RETRY, Health
from workbell.webhooks.endpoints import TIMEOUT
from workbell.webhooks.limits import STANDARD
from workbell.wire.webhooks import EndpointShown

PATTERNS = 40  # letters of the patterns in a list


@click.command("list", help="List the endpoints, and how deliveries to them go.")
@client_options
@tenant_option
@json_option
def list_endpoints(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = [_as_shown(one) for one in bell.webhooks.describe_all()]
        now = now_of(bell)
    if as_json:
        print_json(found)
    elif found:
        _show_table(found, now)
    else:
        say_empty(bell, "There are no endpoints yet; `workbell webhooks add URL --pattern PATTERN` makes one.")


def _show_table(found: Sequence[EndpointShown], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = []
    for endpoint in found:
        word, style = how_it_goes(endpoint.health(), now)
        cells = [
            Text(short(endpoint.id) if console.is_terminal else endpoint.id, "dim"),
            Text(one_line(" ".join(endpoint.patterns), PATTERNS)),
            Text("on", "green") if endpoint.enabled else Text("off", "yellow"),
            Text(word, style),
        ]
        rows.append(TableRow(cells, Text(or_unreadable(endpoint, one_line(endpoint.shown_url)))))
    print_rows(console, ("endpoint", "patterns", "", "deliveries"), "url", rows)


def how_it_goes(health: Health, now: datetime) -> tuple[str, str]:
    """In a few words, and the style to show them in."""
    if health.failures:
        since = health.failing_since or now
        return f"{health.failures:,} failed in a row, for {span(now - since)}", "red"
    if health.last_success_at is not None:
        return f"well {ago(health.last_success_at, now)}", "green"
    return "none yet", "dim"


@click.command("show", help="Show all details of an endpoint.")
@click.argument("endpoint_id", metavar="ID")
@client_options
@tenant_option
@json_option
def show_endpoint(endpoint_id: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        endpoint = described(bell, find_endpoint(bell, endpoint_id).id)
        now = now_of(bell)
    if as_json:
        print_json(endpoint)
        return
    print_facts(make_console(), _facts(endpoint, now))
    echo(f"\nWhat was sent: workbell webhooks deliveries {short(endpoint.id)}")


def _facts(endpoint: EndpointShown, now: datetime) -> list[tuple[str, str]]:
    names = endpoint.header_names
    headers = "sealed with a key that is not known here" if names is None else ", ".join(names)
    off = f"disabled {ago(endpoint.disabled_at, now)}: {one_line(endpoint.disabled_reason or 'no reason was noted')}"
    limit = STANDARD.concurrency if endpoint.concurrency is None else endpoint.concurrency
    facts = [
        ("endpoint", endpoint.id),
        ("url", endpoint.shown_url),
        ("about", endpoint.description),
        ("unreadable", endpoint.unreadable or ""),
        ("patterns", " ".join(endpoint.patterns)),
        ("state", "enabled" if endpoint.enabled else off),
        ("deliveries", how_it_goes(endpoint.health(), now)[0]),
        ("slowed", _slowed(endpoint)),
        ("headers", f"{headers} (their values are not shown)" if headers else ""),
        ("secret", _secrets(endpoint, now)),
        ("retry", retry_in_words(DELIVERY_RETRY if endpoint.retry is None else endpoint.retry)),
        ("at once", f"{limit:,}" if limit is not None else ""),
        ("rate", endpoint.rate or ""),
        ("timeout", f"{TIMEOUT if endpoint.timeout is None else endpoint.timeout:g} s"),
        ("changed", local(endpoint.updated_at)),
    ]
    return [(name, value) for name, value in facts if value]


def _slowed(endpoint: EndpointShown) -> str:
    if endpoint.slowed is None:
        return ""
    waiting = f"{endpoint.slowed.waiting:,}{' or more' if endpoint.slowed.capped else ''} wait"
    return f"to one attempt a minute; {waiting}; `workbell webhooks test {short(endpoint.id)}` tries now"


def _secrets(endpoint: EndpointShown, now: datetime) -> str:
    """Since when the newest is valid, and until when the one before it."""
    sealing = "sealed" if endpoint.sealed else "not sealed: the setting secret_key is missing"
    text = f"{sealing}; made {local(endpoint.secrets[-1].created_at)}" if endpoint.secrets else "none"
    older = [one.valid_until for one in endpoint.secrets[:-1] if one.valid_until and one.valid_until > now]
    return f"{text}; the one before it is valid until {local(older[-1])}" if older else text


def described(bell: AnyClient, endpoint_id: str) -> EndpointShown:
    """An endpoint and how it goes, as the API shows it."""
    return _as_shown(bell.webhooks.describe(endpoint_id))


def _as_shown(found: dict[str, Any] | EndpointShown) -> EndpointShown:
    return found if isinstance(found, EndpointShown) else msgspec.convert(found, EndpointShown)
