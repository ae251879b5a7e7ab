"""`workbell agents pair`."""

from __future__ import annotations

import shlex
import socket
from datetime import timedelta

import click

from workbell.agents.naming import agent_labels, agent_name
from workbell.agents.pairing import EXPIRES
from workbell.app import Workbell
from workbell.cli.acting import created_by, note
from workbell.cli.bell import opened_client
from workbell.cli.output import echo, print_json
from workbell.cli.project import client_options, json_option, open_project, tenant_option
from workbell.cli.serving import public_address
from workbell.cli.values import SPAN
from workbell.cli.words import local
from workbell.model.pairing import PairingTerms


@click.command(help="Let one machine become an agent; its token is shown this once, and can be used once.")
@click.option(
    "--name",
    metavar="NAME",
    help="The agent's name; otherwise it chooses one. An existing agent moves to the new machine.",
)
@click.option("--label", "labels", multiple=True, metavar="WORD", help="A label of the agent; may be repeated.")
@click.option("--expires", type=SPAN, metavar="SPAN", help="How long the token is valid: 5m, 2h. Otherwise: 15m.")
@click.option(
    "--at",
    metavar="URL",
    help="The service's URL as the agent reaches it, printed in the command to type there; otherwise http_public_url.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the token, and nothing else.")
@client_options
@tenant_option
@json_option
def pair(
    name: str | None,
    labels: tuple[str, ...],
    expires: timedelta | None,
    at: str | None,
    quiet: bool,
    url: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    with opened_client(open_project(url=url, tenant=tenant), create=True) as bell:
        span = EXPIRES if expires is None else expires
        terms = PairingTerms(None if name is None else agent_name(name), agent_labels(labels) or None)
        token, text = bell.agents.pairing(name, labels=labels, expires=span, **created_by(bell))
        terms_given = {"name": terms.agent, "labels": terms.labels or ()}
        note(bell, "agents.allow", token.id, detail=terms_given | {"expires_at": token.expires_at}, aloud=not quiet)
        moves = any(agent.name == terms.agent for agent in bell.agents.list())
        address = at or (public_address(bell.settings) if isinstance(bell, Workbell) else bell.transport.address.shown)
    there = _command(address or f"https://{socket.gethostname()}", name)
    if as_json:
        print_json({"id": token.id, **terms_given, "expires_at": token.expires_at, "token": text, "command": there})
        return
    if not quiet:
        until = local(token.expires_at)
        echo(f"Pairing of {terms}, to be used once, until {until}. On the other machine:", err=True)
        echo(f"    {there}", err=True)
        where = "" if address is not None else "with the URL by which it reaches this service. "
        echo(f"{where}It asks for the token, which is shown this once:", err=True)
        if moves:
            echo(f"(The agent {name} exists: it moves there, and its present token is revoked.)", err=True)
    echo(text)  # alone on stdout, so that it can be piped to the other machine


def _command(address: str, name: str | None) -> str:
    """Without the token: a command line can be read by others, and is stored in a history."""
    return f"workbell agent pair --url {shlex.quote(address)}" + ("" if name is not None else " --name NAME")
