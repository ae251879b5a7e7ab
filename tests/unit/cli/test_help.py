"""`workbell --help`: each command stands once, under one of the headings."""

from __future__ import annotations

import re

from click.testing import CliRunner

from workbell.cli.main import COMMANDS, HEADINGS, workbell


def test_every_command_stands_under_one_heading() -> None:
    shown = CliRunner().invoke(workbell, ["--help"], terminal_width=80).output
    _, *rest = re.split(r"^(\S[^:\n]*):$", shown, flags=re.MULTILINE)
    found = {
        heading: re.findall(r"^  (\S+)  ", text, re.MULTILINE)
        for heading, text in zip(rest[::2], rest[1::2], strict=True)
    }
    del found["Options"]
    assert list(found) == ["Run", "Look", "Operate", "Connect", "Set up"]
    assert sorted(name for names in found.values() for name in names) == sorted(workbell.lazy)


def test_no_command_stands_under_two() -> None:
    named = [name for commands in HEADINGS.values() for name in commands]
    assert sorted(named) == sorted(COMMANDS)


def test_the_texts_of_all_headings_begin_in_one_column() -> None:
    lines = CliRunner().invoke(workbell, ["--help"], terminal_width=80).output.splitlines()
    rows = [re.match(r"  [a-z]+ +(?=\S)", line) for line in lines[lines.index("Run:") :]]
    assert len({row.end() for row in rows if row is not None}) == 1
    assert max(map(len, lines)) <= 80
