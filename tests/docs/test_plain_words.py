"""Plain words in the pages and in the help of the commands: phrases that readers did not understand stay away."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from tests.docs.pages import DOCS
from workbell.cli.main import workbell

# What was written, and what says it plainly.
UNCLEAR = {
    "keeps killing": "crashes its worker",
    "tenants with shares": "tenants with weights and limits",
    "has the verbs": "has the same methods",
    "Behind `open`": "after the word `open`",
    "Options go in between": "between the job and `enqueue`",
    "## Apart": "a heading that says what is below it",
    "start them anew": "start them as new processes",
    "closed politely": "closed with a handshake",
    "torn in half": "is finished, and not interrupted halfway",
    "nothing of it is forked": "imported by each process",
    "of anybody": "say what is not counted, and against what",
    "It passes what waits": "is sent before what waits",
    "in nobody's way": "do not count",
    "lest ": "so that … not",
    "cannot be chosen otherwise": "the agent cannot change",
    "Whose;": "the tenant",
    "Where it is now": "the new URL",
    "One that exists moves": "an existing agent moves to the new machine",
    "good for once": "can be used once",
    "Take over job files": "reload",
    "worked off": "processed",
}


def pages() -> Iterator[tuple[str, str]]:
    for path in (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))):
        if "reference" not in path.parts:  # the reference is made from the code: its commands are below
            yield path.name, path.read_text("utf-8")


def helps(group: click.Group, path: str = "workbell") -> Iterator[tuple[str, str]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (
            f"{path} {name}",
            "\n".join([command.help or "", *(getattr(one, "help", "") or "" for one in command.params)]),
        )
        if isinstance(command, click.Group):
            yield from helps(command, f"{path} {name}")


@pytest.mark.parametrize("phrase", UNCLEAR)
def test_no_page_and_no_help_has_it(phrase: str) -> None:
    texts = [*pages(), *helps(workbell)]
    assert len(texts) > 100, "pages and commands are found"
    found = [name for name, text in texts if phrase in " ".join(text.split()) or phrase in text.splitlines()]
    assert not found, f"{phrase!r} ({UNCLEAR[phrase]}) is in {', '.join(found)}"
