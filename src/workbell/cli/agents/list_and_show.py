"""`workbell agents list` and `workbell agents show`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec

from workbell.app import Workbell
from workbell.cli.bell import AnyClient, now_of, opened_client, say_empty
from workbell.cli.output import can_draw, make_console, one_line, print_facts, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.words import ago, local, or_unreadable
from workbell.model.agent import Agent
from workbell.model.json_text import decode
from workbell.model.run import Status
from workbell.wire.agents import AgentShown

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {"lost": ("✗", "x", "bold red"), "disabled": ("◷", "z", "yellow"), "alive": ("✓", "+", "green")}


@click.command("list", help="List the agents, and when each was last seen.")
@client_options
@tenant_option
@json_option
def list_agents(url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        found = bell.agents.list()
        now = now_of(bell)
    if as_json:
        print_json([AgentShown.of(agent, now) for agent in found])
    elif found:
        _show(found, now)
    else:
        say_empty(bell, "There are no agents; `workbell agents pair` lets a machine become one.")


def state_of(agent: Agent, now: datetime) -> str:
    """Whether it gets runs, in a word."""
    if not agent.enabled:
        return "disabled"
    return "alive" if agent.is_alive(now) else "lost"


def _show(found: Sequence[Agent], now: datetime) -> None:
    from rich.text import Text

    from workbell.cli.columns import TableRow, print_rows

    console = make_console()
    rows = []
    for agent in found:
        cells = [
            _named(agent, now, can_draw(console)),
            Text(ago(agent.seen_at, now) or "never", "" if agent.is_alive(now) else "bold red"),
            Text(one_line(", ".join(agent.labels), 40)),
            Text(one_line(agent.host, 30)),
            Text(one_line(agent.version, 20), "dim"),
        ]
        rows.append(TableRow(cells, Text(or_unreadable(agent, one_line(_jobs(agent))))))
    print_rows(console, ("agent", "seen", "labels", "host", "version"), "jobs", rows)


def _named(agent: Agent, now: datetime, symbols: bool) -> Text:
    from rich.text import Text

    word = state_of(agent, now)
    symbol, plain, style = STYLES[word]
    suffix = "" if word == "alive" else f" ({word})"
    return Text(f"{symbol if symbols else plain} {one_line(agent.name, 40)}{suffix}", style)


def _jobs(agent: Agent) -> str:
    return "not reported yet" if agent.jobs is None else ", ".join(agent.jobs) or "none"


@click.command("show", help="Show all details of an agent.")
@click.argument("name")
@client_options
@tenant_option
@json_option
def show_agent(name: str, url: str | None, tenant: str | None, as_json: bool) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=False) as bell:
        agent = bell.agents.get(name)
        now = now_of(bell)
        queued, running = _aimed_at(bell, agent)
    if as_json:
        print_json(msgspec.structs.asdict(AgentShown.of(agent, now)) | {"queued": queued, "running": running})
        return
    metrics = decode(agent.metrics_text)
    facts = [
        ("agent", agent.name),
        ("id", agent.id),
        ("unreadable", str(agent.unreadable or "")),
        ("state", state_of(agent, now)),
        ("seen", f"{ago(agent.seen_at, now)} ({local(agent.seen_at)})" if agent.seen_at else "never"),
        ("labels", ", ".join(agent.labels)),
        ("jobs", _jobs(agent)),
        ("runs", f"{queued:,} queued and {running:,} running are aimed at {', '.join(agent.targets)}"),
        ("host", agent.host),
        ("version", agent.version),
        ("metrics", ", ".join(f"{word} {value}" for word, value in (metrics or {}).items())),
        ("paired", local(agent.created_at)),
    ]
    print_facts(make_console(), [(word, one_line(value, 1000)) for word, value in facts if value])


def _aimed_at(bell: AnyClient, agent: Agent) -> tuple[int, int]:
    """Runs that this agent may take or has; under a label, others may have them as well."""
    if not isinstance(bell, Workbell):
        numbers = [
            sum(bell.count_runs(target=target, status=status).count for target in agent.targets)
            for status in (Status.QUEUED, Status.RUNNING)
        ]
        return numbers[0], numbers[1]
    aimed = [counts for counts in bell.store.reports.counts(agent.tenant) if counts.lane.target in agent.targets]
    return sum(counts.queued for counts in aimed), sum(counts.running for counts in aimed)
