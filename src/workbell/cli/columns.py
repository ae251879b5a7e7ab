"""Table rows with fixed columns; the last column may be long, and is cut or wrapped below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from workbell.cli.output import prints_whole

ROOM = 24  # columns that the last part needs to stand beside the others
LEAST = 8  # of which something of it can be read
GAP = "  "


class TableRow(NamedTuple):
    cells: Sequence[Text]
    rest: Text


def print_rows(
    console: Console,
    names: Sequence[str],
    last: str,
    rows: Sequence[TableRow],
    *,
    right: Sequence[str] = (),
    cut: Mapping[str, int] | None = None,
) -> None:
    """Print a header and the rows; into a pipe, uncut.

    With `cut`, each row is one line: the columns named there are cut, in this order and to these widths at the least,
    to make room for the last part.
    """
    whole = prints_whole(console)
    widths = [max(len(name), *(row.cells[index].cell_len for row in rows)) for index, name in enumerate(names)]
    rest = min(ROOM, max(len(last), *(row.rest.cell_len for row in rows)))
    if cut is not None and not whole:
        widths = _fitted(widths, names, cut, rest, console.width)
    room = console.width - sum(widths) - len(GAP) * len(widths)
    beside = whole or room >= (ROOM if cut is None else min(LEAST, rest))
    header = [Text(name, "dim") for name in names]
    _print(console, _joined(header, widths, names, right).append(last if beside else "", "dim"))
    for row in rows:
        line = _joined(row.cells, widths, names, right)
        if beside:
            line.append_text(row.rest)
        _print(console, line)
        if not beside and row.rest and cut is None:
            _print(console, Text("    ").append_text(row.rest))


def _fitted(widths: Sequence[int], names: Sequence[str], cut: Mapping[str, int], rest: int, most: int) -> list[int]:
    """The widths with which the columns and the last part fit a line, as far as columns may be cut."""
    found = dict(zip(names, widths, strict=True))
    excess = sum(widths) + len(GAP) * len(widths) + rest - most
    for name, least in cut.items():
        less = max(0, min(excess, found[name] - least))
        found[name] -= less
        excess -= less
    return [*found.values()]


def _joined(cells: Sequence[Text], widths: Sequence[int], names: Sequence[str], right: Sequence[str]) -> Text:
    line = Text()
    for cell, width, name in zip(cells, widths, names, strict=True):
        if cell.cell_len > width:
            cell.truncate(width, overflow="ellipsis")
        padding = " " * (width - cell.cell_len)
        line.append(padding if name in right else "").append_text(cell)
        line.append(("" if name in right else padding) + GAP)
    return line


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    if not prints_whole(console):
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    else:
        console.print(line, soft_wrap=True)
