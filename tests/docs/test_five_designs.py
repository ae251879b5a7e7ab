"""The page of all requirements: each is there once, and the commands that show it exist."""

from __future__ import annotations

import re

import click
import pytest

from tests.docs.pages import DOCS, text_of
from tests.docs.test_links import links
from workbell.cli.main import workbell

COUNTS = {"A": 12, "B": 12, "C": 8, "D": 11, "E": 7, "F": 7}
ROW = re.compile(r"^\| ([A-F]\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
COMMAND = re.compile(r"`(?:[A-Z_]+=\w+ )?(workbell [^`]+)`")
PAGE = DOCS / "five-designs.md"


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall(text_of(PAGE).partition("\n## Words\n")[0])


def test_every_requirement_is_there_once() -> None:
    wanted = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
    assert [row[0] for row in rows()] == wanted


def test_every_requirement_says_where_it_is_seen() -> None:
    assert [name for name, _, shown in rows() if "](" not in shown] == []
    assert len(links(PAGE)) > len(rows())


def test_every_word_is_there() -> None:
    words = text_of(PAGE).partition("\n## Words\n")[2]
    states = [line.split(" | ")[-1].removesuffix(" |") for line in words.splitlines() if line.startswith("| ")]
    found = [state for state in states if state not in ("State", "---")]
    assert len(found) > 100
    assert [state for state in found if not state.startswith("there")] == []


@pytest.mark.parametrize("page", ["five-designs", "coming-from"])
def test_the_commands_exist(page: str) -> None:
    found = sorted(set(COMMAND.findall(text_of(DOCS / f"{page}.md"))))
    assert len(found) > 10
    assert [command for command in found if not exists(command)] == []


def exists(command: str) -> bool:
    """Whether the words name commands, and the options are theirs."""
    here: click.Command = workbell
    for word in command.split()[1:]:
        options = {name for parameter in here.params for name in parameter.opts}
        if word.startswith("-"):
            if word not in options:
                return False
        elif isinstance(here, click.Group):
            below = here.get_command(click.Context(here), word)
            if below is None:
                return False
            here = below
    return True
