"""`workbell agents`: the machines elsewhere that work for this service, over HTTP."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.agents"
COMMANDS = {
    "pair": Lazy(
        f"{PACKAGE}.pair:pair", "Let one machine become an agent; its token is shown this once, and can be used once."
    ),
    "list": Lazy(f"{PACKAGE}.list_and_show:list_agents", "List the agents, and when they were last heard of."),
    "show": Lazy(f"{PACKAGE}.list_and_show:show_agent", "Show all there is to know about an agent."),
    "label": Lazy(f"{PACKAGE}.change:label", "Give an agent these labels instead of those it has."),
    "enable": Lazy(f"{PACKAGE}.change:enable", "Let an agent have runs again."),
    "disable": Lazy(f"{PACKAGE}.change:disable", "Let an agent have no more runs; those that it has, it may end."),
    "remove": Lazy(f"{PACKAGE}.change:remove", "Forget an agent; its token is valid no more."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="Pair, see, label, switch off and remove the agents on other machines.\n\n"
    "A run is aimed at an agent by its name, or at any that has a label: `label:gpu`. "
    "On the other machine, the command is `workbell agent`.",
)
def agents() -> None: ...
