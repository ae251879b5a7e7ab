"""Tables look the same in every command: a dim line of names, two spaces between columns, no rule."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from rich.console import Console
from rich.text import Text

from workbell.cli.columns import TableRow, print_rows
from workbell.cli.output import make_table, span


def shown(draw_table: bool) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=60, force_terminal=True, color_system="standard")
    if draw_table:
        table = make_table("queue", "runs", "paused", right=("runs",))
        table.add_row("mail", "12", "no")
        console.print(table)
    else:
        print_rows(
            console, ("queue", "runs"), "paused", [TableRow([Text("mail"), Text("12")], Text("no"))], right=("runs",)
        )
    return [line.rstrip() for line in out.getvalue().splitlines()]


def plain(lines: list[str]) -> list[str]:
    return [Text.from_ansi(line).plain.rstrip() for line in lines]


def test_one_form() -> None:
    assert plain(shown(draw_table=True)) == plain(shown(draw_table=False)) == ["queue  runs  paused", "mail     12  no"]
    assert all("\x1b[2m" in shown(draw_table)[0] for draw_table in (True, False)), "names are dim"


def fitted(width: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    rows = [
        TableRow([Text("ok"), Text("a-name-of-thirty-letters-or-so"), Text("12")], Text("a result of some length")),
        TableRow([Text("wait"), Text("short"), Text("3")], Text("")),
    ]
    print_rows(console, ("status", "job", "#"), "result", rows, right=("#",), cut={"job": 10})
    return out.getvalue().splitlines()


def test_a_column_that_may_be_cut_makes_room_for_the_last() -> None:
    assert fitted(80)[1] == "ok      a-name-of-thirty-letters-or-so  12  a result of some length"
    assert fitted(60)[1] == "ok      a-name-of-thirty-lette…  12  a result of some length"
    assert fitted(40)[1] == "ok      a-name-of…  12  a result of som…"
    assert fitted(40)[2] == "wait    short        3"
    assert fitted(25)[0] == "status  job          #"
    assert fitted(25)[1] == "ok      a-name-of…  12", "no room: it is left out"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (0.000001, "<0.1 ms"),
        (0.000099, "<0.1 ms"),
        (0.0001, "0.1 ms"),
        (0.0004, "0.4 ms"),
        (0.0123, "12 ms"),
        (3.41, "3.4 s"),
        (300, "5 min"),
        (7200, "2 h"),
        (3 * 86_400, "3 d"),
    ],
)
def test_a_span_is_short_and_never_no_milliseconds(seconds: float, text: str) -> None:
    assert span(timedelta(seconds=seconds)) == text
