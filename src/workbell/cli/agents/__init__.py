"""`workbell agents`: agents, which run jobs on other machines over HTTP."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.agents"
COMMANDS = {
    "pair": Lazy(
        f"{PACKAGE}.pair:pair", "Let one machine become an agent; its token is shown this once, and can be used once."
    ),
    "list": Lazy(f"{PACKAGE}.list_and_show:list_agents", "List the agents, and when each was last seen."),
    "show": Lazy(f"{PACKAGE}.list_and_show:show_agent", "Show all details of an agent."),
    "label": Lazy(f"{PACKAGE}.change:label", "Give an agent these labels instead of those it has."),
    "enable": Lazy(f"{PACKAGE}.change:enable", "Give an agent runs again."),
    "disable": Lazy(f"{PACKAGE}.change:disable", "Give an agent no more runs; it may finish those that it has."),
    "remove": Lazy(f"{PACKAGE}.change:remove", "Forget an agent; its token is revoked."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="Pair, see, label, switch off and remove the agents on other machines.\n\n"
    "A run is aimed at an agent by its name, or at any that has a label: `label:gpu`. "
    "On the other machine, the command is `workbell agent`.",
)
def agents() -> None: ...
